// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dashboard is the page that virtctl dashboard serves on loopback, and the narrow way
// from there to the API server, with the kubeconfig of its user.
//
// Guarantees:
//
//  1. Nothing of the cluster is told, and nothing done, without the token of this run, which is
//     in the fragment of the URL that virtctl prints: browsers send that to nobody. The page
//     sends it in a header, so that no other page can make a browser do so.
//  2. Requests are answered only if their Host is this address and their Origin, if any, too:
//     names that point to loopback, and pages of others, get nothing.
//  3. Of the API server, what routes.go lists can be read, and the endpoints of power, refresh and
//     console be called. Paths, parameters and headers are put together anew; all else is 404.
//  4. The page runs no script and loads no style but its own files, and asks no other host.
//  5. What a user may do is for the API server to say: there are no rights here.
package dashboard
