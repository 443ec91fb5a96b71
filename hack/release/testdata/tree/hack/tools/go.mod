// Replaces hack/tools in tests.
module example.com/tree/hack/tools

go 1.26.0

require k8s.io/kubernetes v1.37.2

replace k8s.io/kubernetes => ./kubernetes
