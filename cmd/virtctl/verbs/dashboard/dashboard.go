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

// whoAmITimeout bounds the one question that the start asks: the page can do without an answer.
const whoAmITimeout = 5 * time.Second

// NewCommand returns the command.
func NewCommand(factory *cli.Factory) *cobra.Command {
	f := command{factory}
	var port int
	cmd := &cobra.Command{
		Use:   "dashboard",
		Short: "Show virtual machines, and what they wait for, in a page of your browser",
		Long: "Show virtual machines, and what they wait for, in a page of your browser.\n\n" +
			"virtctl serves the page on loopback (127.0.0.1) until Ctrl-C, and passes what it asks on to the API server,\n" +
			"with your kubeconfig: you see and do there what you may see and do. Nothing is installed in the cluster, and the\n" +
			"page asks no other host. The URL that is printed has a token of this run: who has it can do what you can, so\n" +
			"treat it as a password. --namespace shows that namespace alone.",
		Example: fmt.Sprintf("  %[1]s dashboard\n  %[1]s dashboard --port 8600\n  %[1]s dashboard -n team-a", f.Program),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if port < 0 || port > 65535 {
				return fmt.Errorf("--port: %d is no port, allowed are 0 (a free one) to 65535", port)
			}
			return f.dashboard(cmd.Context(), port)
		},
	}
	cmd.Flags().IntVar(&port, "port", 0, "Port on 127.0.0.1; 0 takes a free one")
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
	fmt.Fprintf(f.Streams.ErrOut, "Open this in your browser. It shows %s until Ctrl-C.\n", session.Server)
	return server.Serve(ctx)
}

// session says whose dashboard it is, and of which cluster.
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

// whoAmI is who the API server takes the user for, empty if it does not say.
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
