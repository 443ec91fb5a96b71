#!/usr/bin/env bash
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

# Builds the manager of the Cluster API version in hack/tools-cluster-api/go.mod into bin/, and creates its manifests
# with bin/kubectl from hack/build-tools.sh. It does nothing if neither the module nor this script has changed since
# the last build.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
module=hack/tools-cluster-api
program=bin/cluster-api-manager
manifests=bin/cluster-api-components.yaml
stamp=bin/.tools-cluster-api.stamp

want="$(cat "${module}/go.mod" "${module}/go.sum" hack/build-cluster-api.sh | sha256sum | cut -d' ' -f1) $(go env GOVERSION GOOS GOARCH | xargs)"
if [[ -x ${program} && -s ${manifests} && -f ${stamp} && "$(cat "${stamp}")" == "${want}" ]]; then
	exit 0
fi

version="$(go -C "${module}" list -m -f '{{.Version}}' sigs.k8s.io/cluster-api)"
major="${version#v}" major="${major%%.*}"
minor="${version#v*.}" minor="${minor%%.*}"
flags="-s -w"
flags+=" -X sigs.k8s.io/cluster-api/version.gitVersion=${version} -X sigs.k8s.io/cluster-api/version.gitTreeState=clean"
flags+=" -X sigs.k8s.io/cluster-api/version.gitMajor=${major} -X sigs.k8s.io/cluster-api/version.gitMinor=${minor}"

echo "building the manager of Cluster API ${version} into bin/: about 2 minutes on two cores, or seconds with Go's build cache"
rm -f "${stamp}"
start=${SECONDS}
go -C "${module}" build -ldflags "${flags}" -o "${PWD}/${program}" sigs.k8s.io/cluster-api/core
bin/kubectl kustomize "$(go -C "${module}" list -m -f '{{.Dir}}' sigs.k8s.io/cluster-api)/core/config/default" >"${manifests}"
echo "${want}" >"${stamp}"
echo "built the manager of Cluster API in $((SECONDS - start)) s"
