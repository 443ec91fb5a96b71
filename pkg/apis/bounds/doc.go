// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bounds keeps every list, map and string that a user writes within sizes and
// an alphabet, for all kinds alike.
//
// What it guarantees:
//
//  1. Nothing that a type holds is without a bound: what the tables do not name has
//     that of MaxItems and MaxText.
//  2. A size is looked at before what it is the size of: no item of a list that is too
//     long, and no character of a text that is too long, is read. With at most
//     MaxErrors errors, refusing an object costs the same whatever is in it.
//  3. What passes is text that XML can carry and a terminal shows as it is: a value that
//     vSphere was given is not read back as another one because of its characters.
//  4. The values of maps are quoted in no error: they may be passwords.
package bounds
