// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/version"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/cmd/virtctl/dashboard"
)

// whoAmITimeout bounds the request for the user's name. The dashboard works without it.
const whoAmITimeout = 5 * time.Second

// NewCommand returns the command.
func NewCommand(factory *cli.Factory) *cobra.Command {
	f := command{factory}
	var port int
	cmd := &cobra.Command{
		Use:   "dashboard",
		Short: "Open a web dashboard of virtual machines",
		Long: "Open a web dashboard of virtual machines, zones, images and the queue.\n\n" +
			"virtctl serves the page on 127.0.0.1 until Ctrl-C and forwards its requests to the API server\n" +
			"with your kubeconfig and your own permissions. Nothing is installed in the cluster. The\n" +
			"page contacts no other host. The printed URL contains a token that grants your permissions:\n" +
			"treat it as a password. --namespace limits the page to one namespace.",
		Example: fmt.Sprintf("  %[1]s dashboard\n  %[1]s dashboard --port 8600\n  %[1]s dashboard -n team-a", f.Program),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if port < 0 || port > 65535 {
				return fmt.Errorf("--port %d: must be from 0 (a free port) to 65535", port)
			}
			return f.dashboard(cmd.Context(), port)
		},
	}
	cmd.Flags().IntVar(&port, "port", 0, "Port on 127.0.0.1; 0 selects a free port")
	return cmd
}

func (f command) dashboard(ctx context.Context, port int) error {
	config, err := f.Config()
	if err != nil {
		return err
	}
	session, err := f.session(ctx, config)
	if err != nil {
		return err
	}
	server, err := dashboard.New(config, port, session)
	if err != nil {
		return err
	}
	fmt.Fprintf(f.Streams.Out, "%s\n", server.URL())
	fmt.Fprintf(f.Streams.ErrOut, "Open this URL in your browser. The dashboard of %s is available until Ctrl-C.\n", session.Server)
	return server.Serve(ctx)
}

// session returns the cluster and the user of the dashboard.
func (f command) session(ctx context.Context, config *rest.Config) (dashboard.Session, error) {
	loader := f.Flags.ToRawKubeConfigLoader()
	namespace, chosen, err := loader.Namespace()
	if err != nil {
		return dashboard.Session{}, fmt.Errorf("reading the namespace from the kubeconfig: %w", err)
	}
	s := dashboard.Session{
		Server: config.Host, Namespace: namespace, Version: version.Get().GitVersion,
		OnlyNamespace: chosen && f.Flags.Namespace != nil && *f.Flags.Namespace != "",
	}
	if raw, err := loader.RawConfig(); err == nil {
		s.Context = raw.CurrentContext
		if f.Flags.Context != nil && *f.Flags.Context != "" {
			s.Context = *f.Flags.Context
		}
	}
	s.User = whoAmI(ctx, config)
	return s, nil
}

// whoAmI returns the name of the user according to the API server, or an empty string.
func whoAmI(ctx context.Context, config *rest.Config) string {
	ctx, cancel := context.WithTimeout(ctx, whoAmITimeout)
	defer cancel()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return ""
	}
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return ""
	}
	return review.Status.UserInfo.Username
}
