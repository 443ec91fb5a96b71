// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package placement chooses in which zone a virtual machine is made.
//
// Guarantees:
//
//  1. Which zones there are to choose from, and the choice by what they offer, are pure.
//  2. A zone is chosen once: what was chosen is returned again until status has it, and
//     nothing is made before. A virtual machine that somebody may have made when there were no
//     zones is in the default one.
//  3. What was chosen for others counts before their virtual machines show in what is free.
//  4. No call waits for a hypervisor: zones are asked meanwhile, a hint follows.
package placement
