// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package resourcequota

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
)

// settleTime is how long a request may take from its charge, which is the last thing that
// admission does, until it is stored or has failed. Our judgement: it takes milliseconds.
const settleTime = 5 * time.Second

// seen is what a quota had charged at a time, when that was more than was used.
type seen struct {
	uid  types.UID
	at   time.Time
	used corev1.ResourceList
}

// age of what was seen of the quota uid; negative if nothing was.
func (s *seen) age(uid types.UID, now time.Time) time.Duration {
	if s == nil || s.uid != uid {
		return -1
	}
	return now.Sub(s.at)
}

// settled returns what to charge: what is used, and where that is less than what is
// charged, with all that was charged after before was seen. Without before nothing
// becomes less.
func settled(before *seen, charged, used corev1.ResourceList) corev1.ResourceList {
	result := corev1.ResourceList{}
	for name, u := range used {
		c, known := charged[name]
		switch {
		case !known || u.Cmp(c) >= 0:
			result[name] = u
		case before == nil:
			result[name] = c
		default:
			since := quotav1.SubtractWithNonNegativeResult(
				corev1.ResourceList{name: c}, corev1.ResourceList{name: before.used[name]})
			u.Add(since[name])
			if u.Cmp(c) > 0 {
				u = c
			}
			result[name] = u
		}
	}
	return result
}
