// Replaces Slipway in tests.
module example.com/tree

go 1.26.0
