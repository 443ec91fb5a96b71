// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/apiserver/certs/apiservices"
	"github.com/slipway-dev/slipway/pkg/store/embedded"
)

// conditionSpace is the type of the condition that the APIServices have beside Available of
// the host cluster: True while the embedded etcd has room. Its reasons are those of the Events.
const conditionSpace = "StorageSpace"

// levelExternal is that of a store whose room is not looked at, and reasonExternal the reason
// of the condition then.
const levelExternal, reasonExternal = "External", "ExternalEtcd"

// spaceCondition tells the same as the Events by a condition of the APIServices that lead to
// the server. Replicas share it, each with an etcd of its own: it is False from when one of
// them, which the message names, runs out of room, until that one has some again.
type spaceCondition struct {
	objects   dynamic.Interface
	namespace string
	replica   string
	// members are the names of all replicas.
	members func() []string
	// told is the level that was told last, and when.
	told   string
	toldAt time.Time
}

// look tells what is new. While room is scarce it looks at the condition every time, for
// another replica may have taken back what it had said itself.
func (c *spaceCondition) look(ctx context.Context, space *embedded.Space) {
	level := levelExternal
	if space != nil {
		level = space.Level()
	}
	due := level != c.told || time.Since(c.toldAt) >= spaceRepeat
	if (level == levelEnough || level == levelExternal) && !due {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	var errs []error
	for _, name := range apiServices() {
		errs = append(errs, c.tell(bounded, name, space, due))
	}
	err := errors.Join(errs...)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("The room of the store was not told by a condition of all APIServices", "condition", conditionSpace, "err", err)
	}
	if due && (err == nil || apierrors.IsForbidden(err)) { // which will be so the next time, too
		c.told, c.toldAt = level, time.Now()
	}
}

// tell writes the condition of one APIService. One that is not there, or leads elsewhere, is
// none of ours.
func (c *spaceCondition) tell(ctx context.Context, name string, space *embedded.Space, due bool) error {
	is, err := apiservices.Read(ctx, c.objects, name)
	if err != nil || is == nil || !is.LeadsTo(c.namespace, serviceName) {
		return err
	}
	next := c.next(is.Condition(conditionSpace), space, due)
	if next == nil {
		return nil
	}
	return is.Say(ctx, *next, metav1.Now())
}

// next is what takes the place of the condition, nil if it stays. due is true when a message
// of before is out of date.
func (c *spaceCondition) next(was *metav1.Condition, space *embedded.Space, due bool) *metav1.Condition {
	if space == nil { // What was said was said of an embedded etcd of before.
		if was == nil || was.Status == metav1.ConditionUnknown {
			return nil
		}
		return &metav1.Condition{
			Type: conditionSpace, Status: metav1.ConditionUnknown, Reason: reasonExternal, Message: c.replica + ": the room of an external etcd is not looked at",
		}
	}
	next := &metav1.Condition{
		Type: conditionSpace, Status: metav1.ConditionTrue, Reason: "Space" + space.Level(), Message: c.replica + ": the embedded etcd has room",
	}
	if why := space.Err(); why != nil {
		next.Status, next.Message = metav1.ConditionFalse, fmt.Sprintf("%s: %v", c.replica, why)
	}
	if was == nil {
		return next
	}
	by, _, _ := strings.Cut(was.Message, ": ")
	switch {
	case was.Status == metav1.ConditionFalse && by != c.replica && slices.Contains(c.members(), by):
		return nil // that one takes it back
	case was.Reason == next.Reason && (next.Status == metav1.ConditionTrue || !due):
		return nil
	}
	return next
}
