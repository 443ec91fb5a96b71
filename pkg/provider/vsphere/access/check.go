// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	slipwaysession "github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
)

// Object is an object that privileges are needed on.
type Object struct {
	// Kind of the object, Root or one of a survey.
	Kind string
	// Name is its inventory path or name.
	Name string
	// Missing are the privileges that the account lacks.
	Missing []string
	// Err is why it could not be found or asked about; nil if it was.
	Err error
}

// Report is the outcome of a check.
type Report struct {
	// Version of vCenter for people, APIVersion that of its API.
	Version, APIVersion string
	// TooOld is true when the API is older than MinAPIVersion.
	TooOld bool
	// Account that was checked.
	Account string
	// Objects in the order of their kinds.
	Objects []Object
}

// OK is true when nothing is missing.
func (r *Report) OK() bool {
	return !r.TooOld && !slices.ContainsFunc(r.Objects, func(o Object) bool { return o.Err != nil || len(o.Missing) > 0 })
}

// Print writes one line for each finding.
func (r *Report) Print(w io.Writer) {
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	line("%s, API %s, as %s", r.Version, r.APIVersion, r.Account)
	if r.TooOld {
		line("vCenter is too old to deploy images of content libraries: its API must be at least %s", MinAPIVersion)
	}
	for _, o := range r.Objects {
		if o.Err != nil {
			line("%s: %v", o.Kind, o.Err)
		}
		for _, p := range o.Missing {
			line("%s %s: missing privilege %s", o.Kind, o.Name, p)
		}
		if o.Err == nil && len(o.Missing) == 0 {
			line("%s %s: ok", o.Kind, o.Name)
		}
	}
}

// Check looks for the places, and asks for the privileges on each of them. An error
// means that vCenter could not be asked at all.
func Check(ctx context.Context, s *slipwaysession.Session, places *placement.Resolver) (*Report, error) {
	c, err := s.Vim(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.LoginREST(ctx); err != nil {
		return nil, err
	}
	me, err := session.NewManager(c).UserSession(ctx)
	if err == nil && me == nil {
		err = errors.New("there is none")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the session with vCenter: %w", err)
	}
	about := c.ServiceContent.About
	r := &Report{
		Version: about.FullName, APIVersion: about.ApiVersion, Account: me.UserName,
		TooOld: slipwaysession.Older(about.ApiVersion, MinAPIVersion),
	}
	found := append([]placement.Surveyed{{What: Root, Path: "/", Ref: c.ServiceContent.RootFolder}}, places.Survey(ctx)...)
	for _, at := range found {
		o := Object{Kind: at.What, Name: at.Path, Err: at.Err}
		if o.Err == nil {
			o.Missing, o.Err = lacking(ctx, c, me.Key, at.Ref, Required[at.What])
		}
		r.Objects = append(r.Objects, o)
	}
	return r, nil
}

// lacking are the privileges that the session does not have on the object.
func lacking(ctx context.Context, c *vim25.Client, key string, ref types.ManagedObjectReference, ids []string) ([]string, error) {
	res, err := methods.HasPrivilegeOnEntities(ctx, c, &types.HasPrivilegeOnEntities{
		This: *c.ServiceContent.AuthorizationManager, Entity: []types.ManagedObjectReference{ref}, SessionId: key, PrivId: ids,
	})
	if err != nil {
		return nil, fmt.Errorf("asking for the privileges on %s: %w", ref.Value, err)
	}
	granted := map[string]bool{}
	for _, e := range res.Returnval {
		for _, p := range e.PrivAvailability {
			granted[p.PrivId] = p.IsGranted
		}
	}
	var missing []string
	for _, id := range ids {
		if !granted[id] {
			missing = append(missing, id)
		}
	}
	return missing, nil
}
