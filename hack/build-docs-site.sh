#!/usr/bin/env bash
# Copyright The Slipway Authors.
# SPDX-License-Identifier: Apache-2.0

# Builds a website of the documentation with an offline search in .cache/docs-site. It uses VitePress (MIT), pinned by
# hack/docs-site/package-lock.json, and requires Node 18 or newer. A broken link is an error.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
if ! command -v npm >/dev/null; then
	echo "build-docs-site.sh: npm is missing: install Node.js 18 or newer" >&2
	exit 1
fi
work="${PWD}/.cache/docs-site-build"
mkdir -p "${work}"
rm -rf "${work}/src" "${work}/.vitepress" .cache/docs-site
cp -R hack/docs-site/. "${work}"
mkdir "${work}/src"
cp -R docs ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md "${work}/src"
cp README.md "${work}/src/index.md"

cd "${work}"
npm ci --ignore-scripts --include=optional --no-audit --no-fund --loglevel=error
npm run --silent build
echo "the site is in .cache/docs-site; to view it: python3 -m http.server -d .cache/docs-site"
