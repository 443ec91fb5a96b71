#!/usr/bin/env bash
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

# Builds kube-apiserver, kube-controller-manager and kubectl from the version of
# k8s.io/kubernetes that hack/tools/go.mod pins, into bin/. A stamp keeps them
# until the module or this script changes.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin="${PWD}/bin"
programs=(kube-apiserver kube-controller-manager kubectl)

if ! command -v go >/dev/null; then
	echo "build-tools: go is missing; install Go 1.26 or newer (https://go.dev/dl)" >&2
	exit 1
fi

stamp="${bin}/.tools.stamp"
want="$(cat hack/tools/go.mod hack/tools/go.sum hack/build-tools.sh | sha256sum | cut -d' ' -f1) $(go env GOVERSION GOOS GOARCH | xargs)"
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

echo "building ${programs[*]} ${version} into bin/: once, about 10 minutes on two cores, seconds when Go's build cache has them"
mkdir -p "${bin}"
rm -f "${stamp}"
start=${SECONDS}
for p in "${programs[@]}"; do
	begin=${SECONDS}
	(cd hack/tools && go build -trimpath -ldflags "${flags}" -o "${bin}/${p}" "k8s.io/kubernetes/cmd/${p}")
	echo "  ${p} ${version}: $((SECONDS - begin)) s"
done
echo "${want}" >"${stamp}"
echo "built the Kubernetes programs in $((SECONDS - start)) s"
