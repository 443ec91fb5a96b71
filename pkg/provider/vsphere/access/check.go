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
	// Candidate is true if neither a Zone nor a flag specifies the object, and the vCenter has others of its kind.
	Candidate bool
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
	// Unspecified are the kinds of objects that must be specified, because the vCenter has several.
	Unspecified []*placement.UnspecifiedError
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
// flags do not specify which of them are used. Of several candidates, one with all privileges is
// sufficient.
func (r *Report) OK() bool {
	if r.TooOld || slices.ContainsFunc(r.Objects, func(o Object) bool { return !o.Candidate && o.lacks() }) {
		return false
	}
	for _, u := range r.Unspecified {
		of := func(o Object) bool { return o.Candidate && o.Kind == u.What }
		if u.More == 0 && slices.ContainsFunc(r.Objects, of) && !slices.ContainsFunc(r.Objects, func(o Object) bool { return of(o) && !o.lacks() }) {
			return false
		}
	}
	return true
}

func (o *Object) lacks() bool { return o.Err != nil || len(o.Missing) > 0 }

// note returns the note on a kind of objects that must be specified.
func note(u *placement.UnspecifiedError) string {
	paths := make([]string, 0, len(u.Candidates))
	for i := range u.Candidates {
		paths = append(paths, u.Candidates[i].Path)
	}
	if len(paths) == 1 && u.More == 0 {
		return fmt.Sprintf("note: describe Zones: several %ss were found, of which only %s can be used", u.What, paths[0])
	}
	text := fmt.Sprintf("note: describe Zones: several %ss were found: %s", u.What, strings.Join(paths, ", "))
	if u.More > 0 {
		text += fmt.Sprintf(" and %d more, which are not checked", u.More)
	}
	return text
}

// clock describes the difference between the clocks.
func (r *Report) clock() string {
	if slipwaysession.SkewWarning(r.Skew) == "" {
		return fmt.Sprintf("clock: differs from this machine's clock by %s: ok", r.Skew.Abs().Round(time.Second))
	}
	way := "ahead of"
	if r.Skew < 0 {
		way = "behind"
	}
	return fmt.Sprintf("warning: vCenter's clock is %s %s this machine's clock: synchronize both, and the nodes of the server, with NTP; "+
		"the server postpones deletions that depend on vCenter tasks while its clock differs by more than %s", r.Skew.Abs().Round(time.Second), way, slipwaysession.SkewTolerance)
}

// Print writes one line per finding.
func (r *Report) Print(w io.Writer) {
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	line("%s, API %s (minimum %s), as %s", r.Version, r.APIVersion, MinAPIVersion, r.Account)
	if r.TooOld {
		line("vCenter is too old to deploy images of content libraries: its API must be at least %s", MinAPIVersion)
	}
	line("%s", r.clock())
	for _, u := range r.Unspecified {
		line("%s", note(u))
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
			text := o.title() + ": missing privilege " + p
			if o.Candidate {
				text += ", which is required only if it is used"
			}
			line("%s", text)
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
	check.checkObjects(ctx, r)
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

// checkObjects adds the results for the objects to r. Candidates replace the objects that must be
// specified.
func (c *checker) checkObjects(ctx context.Context, r *Report) {
	var all []placement.SurveyResult
	for _, at := range c.objects {
		found, candidate := []placement.SurveyResult{at}, false
		var unspecified *placement.UnspecifiedError
		if at.Zone == "" && errors.As(at.Err, &unspecified) {
			r.Unspecified = append(r.Unspecified, unspecified)
			if found, candidate = unspecified.Candidates, true; len(Required[unspecified.What]) == 0 {
				continue
			}
		}
		for _, at := range found {
			o := Object{Zone: at.Zone, Kind: at.What, Name: at.Path, Err: at.Err, Candidate: candidate}
			if o.Err == nil && len(Required[at.What]) > 0 {
				o.Missing, o.Err = c.missingPrivileges(ctx, at.Ref, Required[at.What])
			}
			r.Objects = append(r.Objects, o)
		}
		all = append(all, found...)
	}
	c.objects = all
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
		each = append(each, strings.Split(id, AlternativeSeparator)...)
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
