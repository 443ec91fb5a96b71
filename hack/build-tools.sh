#!/usr/bin/env bash
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

# Builds kube-apiserver, kube-controller-manager, kubectl, etcd and etcdutl with the versions in hack/tools/go.mod
# into bin/. The arguments are those of go build for additional packages. One build is faster, because half of the
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

version="$(cd hack/tools && go list -m -f '{{.Version}}' k8s.io/kubernetes)"
major="${version#v}" major="${major%%.*}"
minor="${version#v*.}" minor="${minor%%.*}"
flags="-s -w"
for pkg in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
	flags+=" -X ${pkg}.gitVersion=${version} -X ${pkg}.gitMajor=${major} -X ${pkg}.gitMinor=${minor}"
	flags+=" -X ${pkg}.gitTreeState=clean"
done

echo "building all programs, with ${kubernetes[*]} ${version} and etcd, into bin/: about 8 minutes on two cores, or seconds with Go's build cache"
mkdir -p "${bin}"
rm -f "${stamp}"
# A workspace requires -mod=readonly; GOFLAGS may contain another value.
GOWORK="${PWD}/hack/all.work" go build -mod=readonly -o "${bin}/" -ldflags "k8s.io/kubernetes/cmd/...=${flags}" "$@" "${kubernetes[@]/#/k8s.io/kubernetes/cmd/}" go.etcd.io/etcd/{server,etcdutl}/v3
mv "${bin}/server" "${bin}/etcd" # go names a program after its directory
echo "built after ${SECONDS} s"
echo "${want}" >"${stamp}"
