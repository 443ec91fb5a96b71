// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere"
)

// checkTimeout bounds --check-vcenter, so that it ends also beside a silent vCenter.
const checkTimeout = 2 * time.Minute

// errLacking ends --check-vcenter when the report names something.
var errLacking = errors.New("vCenter lacks something that Slipway needs: see above")

// checkVCenter connects as the flags say, writes what is missing, and changes nothing.
func checkVCenter(ctx context.Context, o *Options, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if o.VCenter.URL == "" {
		return errors.New("--check-vcenter needs --vcenter-url")
	}
	if err := utilerrors.NewAggregate(o.VCenter.validate()); err != nil {
		return err
	}
	host, err := o.secretReader()
	if err != nil {
		return err
	}
	config, err := o.VCenter.config(host)
	if err != nil {
		return err
	}
	report, err := vsphere.CheckAccess(ctx, config)
	if err != nil {
		return err
	}
	report.Print(out)
	if !report.OK() {
		return errLacking
	}
	return nil
}

// secretReader reaches the host cluster, if the credentials are there.
func (o *Options) secretReader() (kubernetes.Interface, error) {
	if o.VCenter.CredentialsSecret == "" || o.Host != nil {
		return o.Host, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.Recommended.CoreAPI.CoreAPIKubeconfigPath)
	if err != nil {
		return nil, fmt.Errorf("--vcenter-credentials-secret needs the host cluster: %w", err)
	}
	return kubernetes.NewForConfig(config)
}
