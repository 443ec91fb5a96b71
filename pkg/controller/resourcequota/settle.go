// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package resourcequota

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
)

// settleTime is the maximum time between the charge of a request, which is the last step of admission, and the moment when the
// object is stored or the request has failed. By our judgement this takes milliseconds.
const settleTime = 5 * time.Second

// observation is the charge of a quota at a time when it was higher than the usage.
type observation struct {
	uid  types.UID
	at   time.Time
	used corev1.ResourceList
}

// age returns the age of an observation of the quota with the UID. It is negative if there is none.
func (s *observation) age(uid types.UID, now time.Time) time.Duration {
	if s == nil || s.uid != uid {
		return -1
	}
	return now.Sub(s.at)
}

// settled returns the new charge. It is the usage; if the usage is lower than the charge, the charges since the observation
// before are added. Without an observation the charge is not reduced.
func settled(before *observation, charged, used corev1.ResourceList) corev1.ResourceList {
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
