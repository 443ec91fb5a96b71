// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dashboard serves the web page of virtctl dashboard on loopback, and a restricted proxy to the API server
// with the user's kubeconfig.
//
// Guarantees:
//
//  1. Without the token of this run, no cluster data is returned and nothing is changed. The token is in the
//     fragment of the printed URL, which browsers do not send. The page sends it in a header, which other pages cannot
//     set.
//  2. Requests are served only if their Host and their Origin, if any, are this address. This blocks DNS rebinding
//     and pages of other origins.
//  3. Of the API server, the resources in routes.go can be read, and the endpoints of power, refresh and console can
//     be called. Paths, parameters and headers are rebuilt from known parts; all other requests get 404.
//  4. The page runs only its own scripts and styles, and contacts no other host.
//  5. The API server authorizes all requests; the dashboard has no permissions of its own.
package dashboard
