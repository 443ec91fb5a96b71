// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package detach tells whether volumes are still attached to the Node of a Machine that is
// being deleted. A disk that is attached when a VM is destroyed may be destroyed with it.
//
// Guarantees:
//
//  1. It changes nothing; whoever manages the volumes detaches them.
//  2. A volume is waited for if the Node tells that it is attached, or a VolumeAttachment
//     does. One that belongs to no PersistentVolume or to no claim is waited for too: what
//     is not known is not taken for detached.
//  3. Claims of Pods that the drain skips are not waited for, those of generic ephemeral
//     volumes included: such Pods stay, and so do their volumes. Claims of other Pods are,
//     whether or not the Pods are still there.
//  4. A Node that is gone, or whose kubelet no longer reports, ends the wait: nobody
//     detaches from it. A Node that could not be read does not.
//  5. What is read is read from the API in pages, bounded in number and time; messages name at most five objects of a
//     kind.
package detach
