// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	slipwaysession "github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
)

// Object is an object that the account needs privileges on.
type Object struct {
	// Zone is the Zone that specifies the object. It is empty if the flags specify it.
	Zone string
	// Kind is Root or a kind of placement.SurveyResult.
	Kind string
	// Name is its inventory path or name.
	Name string
	// Missing lists the privileges that the account lacks.
	Missing []string
	// Err is set if the object could not be found or its privileges could not be queried.
	Err error
}

// Report is the result of a check.
type Report struct {
	// Version is the full product name and version of vCenter, APIVersion the version of its API.
	Version, APIVersion string
	// TooOld is true when the API is older than MinAPIVersion.
	TooOld bool
	// Skew is how far vCenter's clock is ahead of the local clock.
	Skew time.Duration
	// Account is the name of the checked account.
	Account string
	// Objects are in the order of zones and kinds.
	Objects []Object
	// Features are the results for optional features.
	Features []FeatureReport
	// WithoutDRS lists the clusters in which DRS is not enabled. WithoutDRSErr is set if that could
	// not be read.
	WithoutDRS    []string
	WithoutDRSErr error
}

// title returns the zone, kind and name of the object.
func (o *Object) title() string {
	title := o.Kind + " " + o.Name
	if o.Zone != "" {
		return "zone " + o.Zone + ": " + title
	}
	return title
}

// OK reports whether all required privileges are granted. It ignores optional features, because the
// flags do not specify which of them are used.
func (r *Report) OK() bool {
	return !r.TooOld && !slices.ContainsFunc(r.Objects, func(o Object) bool { return o.Err != nil || len(o.Missing) > 0 })
}

// Print writes one line per finding.
func (r *Report) Print(w io.Writer) {
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	line("%s, API %s, as %s", r.Version, r.APIVersion, r.Account)
	if r.TooOld {
		line("vCenter is too old to deploy images of content libraries: its API must be at least %s", MinAPIVersion)
	}
	if warning := slipwaysession.SkewWarning(r.Skew); warning != "" {
		line("warning: %s", warning)
	}
	for _, o := range r.Objects {
		switch {
		case o.Err != nil && o.Zone != "":
			line("%s: %v", o.title(), o.Err)
		case o.Err != nil:
			line("%s: %v", o.Kind, o.Err)
		case len(o.Missing) == 0:
			line("%s: ok", o.title())
		}
		for _, p := range o.Missing {
			line("%s: missing privilege %s", o.title(), p)
		}
	}
	for _, name := range r.WithoutDRS {
		line("cluster %s: DRS is not enabled: Slipway selects a connected host for each VM that it creates from a content library or by fast deploy; "+
			"not available: placement by DRS rating, load balancing, affinity rules, resource pools other than the cluster's", name)
	}
	if r.WithoutDRSErr != nil {
		line("clusters without DRS: %v", r.WithoutDRSErr)
	}
	for i := range r.Features {
		for _, l := range r.Features[i].lines() {
			line("%s", l)
		}
	}
}

// checker queries the privileges in one vCenter.
type checker struct {
	session  *slipwaysession.Session
	resolver *placement.Resolver
	client   *vim25.Client
	// key is the key of the session in vCenter.
	key string
	// objects are the objects to check.
	objects []placement.SurveyResult
}

// Check finds the objects of the zones and queries the privileges on each of them. Without zones it
// checks the objects that the flags specify. It returns an error if vCenter cannot be queried at
// all.
func Check(ctx context.Context, s *slipwaysession.Session, resolver *placement.Resolver, zones ...*placement.Resolver) (*Report, error) {
	c, err := s.Vim(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.LoginREST(ctx); err != nil {
		return nil, err
	}
	me, err := userSession(ctx, c)
	if err != nil {
		return nil, err
	}
	skew, err := s.MeasureSkew(ctx)
	if err != nil {
		return nil, err
	}
	about := c.ServiceContent.About
	r := &Report{
		Version: about.FullName, APIVersion: about.ApiVersion, Account: me.UserName, Skew: skew,
		TooOld: slipwaysession.IsOlderVersion(about.ApiVersion, MinAPIVersion),
	}
	check := &checker{session: s, resolver: resolver, client: c, key: me.Key}
	check.objects = []placement.SurveyResult{{What: Root, Path: "/", Ref: c.ServiceContent.RootFolder}}
	for _, zone := range zones {
		check.objects = append(check.objects, zone.SurveyZone(ctx)...)
	}
	if len(zones) == 0 {
		check.objects = append(check.objects, resolver.Survey(ctx)...)
	}
	for _, at := range check.objects {
		o := Object{Zone: at.Zone, Kind: at.What, Name: at.Path, Err: at.Err}
		if o.Err == nil && len(Required[at.What]) > 0 {
			o.Missing, o.Err = check.missingPrivileges(ctx, at.Ref, Required[at.What])
		}
		r.Objects = append(r.Objects, o)
	}
	if len(zones) == 0 {
		zones = []*placement.Resolver{resolver}
	}
	for _, zone := range zones {
		r.addClusters(ctx, zone)
	}
	for i := range Features {
		r.Features = append(r.Features, check.checkFeature(ctx, &Features[i]))
	}
	return r, nil
}

// addClusters adds the zone's clusters without DRS.
func (r *Report) addClusters(ctx context.Context, zone *placement.Resolver) {
	names, err := zone.WithoutDRS(ctx)
	var unusable *placement.NotUsableError
	if !errors.As(err, &unusable) { // Check reports it with the resource pools.
		r.WithoutDRSErr = errors.Join(r.WithoutDRSErr, err)
	}
	for _, name := range names {
		if !slices.Contains(r.WithoutDRS, name) {
			r.WithoutDRS = append(r.WithoutDRS, name)
		}
	}
}

// userSession returns the vCenter session of c.
func userSession(ctx context.Context, c *vim25.Client) (*types.UserSession, error) {
	me, err := session.NewManager(c).UserSession(ctx)
	if err == nil && me == nil {
		err = errors.New("no session")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the session with vCenter: %w", err)
	}
	return me, nil
}

// missingPrivileges returns the privileges that the session lacks on the object.
func (c *checker) missingPrivileges(ctx context.Context, ref types.ManagedObjectReference, ids []string) ([]string, error) {
	var each []string
	for _, id := range ids {
		each = append(each, strings.Split(id, Or)...)
	}
	res, err := methods.HasPrivilegeOnEntities(ctx, c.client, &types.HasPrivilegeOnEntities{
		This: *c.client.ServiceContent.AuthorizationManager, Entity: []types.ManagedObjectReference{ref}, SessionId: c.key, PrivId: each,
	})
	if err != nil {
		return nil, fmt.Errorf("querying the privileges on %s: %w", ref.Value, err)
	}
	has := map[string]bool{}
	for _, e := range res.Returnval {
		for _, p := range e.PrivAvailability {
			has[p.PrivId] = p.IsGranted
		}
	}
	var missing []string
	for _, id := range ids {
		if !isGranted(id, has) {
			missing = append(missing, id)
		}
	}
	return missing, nil
}
