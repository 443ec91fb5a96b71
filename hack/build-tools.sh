#!/usr/bin/env bash
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

# Builds kube-apiserver, kube-controller-manager, kubectl, etcd and etcdutl with the versions in hack/tools/go.mod
# into bin/. The arguments are the flags of go build and additional packages. One build is faster, because half of the
# packages are shared and linking runs in parallel. It does nothing if neither the module nor this script has changed
# since the last build.
#
# usage: build-tools.sh [-ldflags pattern=flags]... [package...]
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin="${PWD}/bin"
kubernetes=(kube-apiserver kube-controller-manager kubectl)
programs=("${kubernetes[@]}" etcd etcdutl)

if ! command -v go >/dev/null; then
	echo "build-tools: go is missing; install Go 1.26 or newer (https://go.dev/dl)" >&2
	exit 1
fi

stamp="${bin}/.tools.stamp"
want="$(cat hack/tools/go.mod hack/tools/go.sum hack/all.work hack/build-tools.sh | sha256sum | cut -d' ' -f1) $(go env GOVERSION GOOS GOARCH | xargs)"
present=yes
for p in "${programs[@]}"; do
	[[ -x "${bin}/${p}" ]] || present=no
done
if [[ ${present} == yes && -f ${stamp} && "$(cat "${stamp}")" == "${want}" ]]; then
	exit 0
fi

# The processor time in docs/contributing/benchmarks.md is 14 minutes. It is divided by the cores; about one more minute does not
# run in parallel. Programs are not cached, and packages of this repository are compiled again in each clone: with the other
# packages in the cache, a new clone took 189 s on two cores.
estimate="about 3 minutes, because Go's build cache has the packages of Kubernetes"
if [[ "$(GOWORK="${PWD}/hack/all.work" go list -mod=readonly -f '{{.Stale}}' k8s.io/kubernetes/cmd/kube-apiserver/app)" == true ]]; then
	cores="$(getconf _NPROCESSORS_ONLN)"
	estimate="about $((1 + (14 + cores - 1) / cores)) minutes if all ${cores} cores are idle"
fi
echo "building all programs, with ${kubernetes[*]} and etcd, into bin/: ${estimate}"
mkdir -p "${bin}"
rm -f "${stamp}"
# A workspace requires -mod=readonly; GOFLAGS may contain another value.
GOWORK="${PWD}/hack/all.work" go build -mod=readonly -o "${bin}/" "$@" "${kubernetes[@]/#/k8s.io/kubernetes/cmd/}" go.etcd.io/etcd/{server,etcdutl}/v3
mv "${bin}/server" "${bin}/etcd" # go names a program after its directory
echo "built after ${SECONDS} s"
echo "${want}" >"${stamp}"
