// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/access"
)

// checkTimeout bounds --check-vcenter, also when vCenter does not respond.
const checkTimeout = 2 * time.Minute

// errLacking is returned by --check-vcenter when the report has findings.
var errLacking = errors.New("vCenter does not meet the requirements of Slipway: see above")

// checkVCenter connects with the settings of the flags, reports the missing prerequisites and changes nothing.
func checkVCenter(ctx context.Context, o *Options, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if o.VCenter.URL == "" {
		return errors.New("--check-vcenter requires --vcenter-url")
	}
	if err := utilerrors.NewAggregate(o.VCenter.validate()); err != nil {
		return err
	}
	management, err := o.secretReader()
	if err != nil {
		return err
	}
	config, err := o.VCenter.config(management)
	if err != nil {
		return err
	}
	zones, err := o.VCenter.zonesToCheck()
	if err != nil {
		return err
	}
	report, err := vsphere.CheckAccess(ctx, config, zones)
	if err != nil {
		return err
	}
	report.Print(out)
	if !report.OK() {
		return errLacking
	}
	return nil
}

// maxZonesFile is the maximum size of the file of zones, in bytes.
const maxZonesFile = 1 << 20

// zonesToCheck returns the zones in the file of --check-vcenter-zones.
func (o *VCenterOptions) zonesToCheck() ([]vmv1alpha1.Zone, error) {
	if o.CheckZones == "" {
		return nil, nil
	}
	f, err := os.Open(o.CheckZones)
	if err != nil {
		return nil, fmt.Errorf("--check-vcenter-zones: %w", err)
	}
	defer func() { _ = f.Close() }()
	zones, err := access.ReadZones(io.LimitReader(f, maxZonesFile))
	if err != nil {
		return nil, fmt.Errorf("--check-vcenter-zones %s: %w", o.CheckZones, err)
	}
	return zones, nil
}

// secretReader returns a client of the management cluster, if the credentials are stored there.
func (o *Options) secretReader() (kubernetes.Interface, error) {
	if o.VCenter.CredentialsSecret == "" || o.Host != nil {
		return o.Host, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.Recommended.CoreAPI.CoreAPIKubeconfigPath)
	if err != nil {
		return nil, fmt.Errorf("--vcenter-credentials-secret requires the management cluster: %w", err)
	}
	return kubernetes.NewForConfig(config)
}
