// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command analyzers runs checks that staticcheck does not have on the packages that are its arguments. Errors must be
// compared with errors.Is and errors.As. A switch over an enumeration must have all values or a default. A struct
// must not contain a context. A package must have one import alias. kube-api-linter checks the API types. A line that
// ends in //nolint:NAME // REASON is not reported by the check NAME.
package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/julz/importas"
	"github.com/nishanths/exhaustive/passes/exhaustive"
	"github.com/polyfloyd/go-errorlint/errorlint"
	"github.com/sivchari/containedctx"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/multichecker"
)

const ours = "github.com/slipway-dev/slipway/pkg/"

// aliases are the required import aliases of packages.
var aliases = []string{
	"k8s.io/apimachinery/pkg/api/errors:apierrors",
	"k8s.io/apimachinery/pkg/apis/meta/v1:metav1",
	"k8s.io/api/(apps|core|coordination|events|rbac)/v1:${1}v1",
	ours + "apis/vm/v1alpha1:vmv1alpha1",
	ours + "apis/instancetype/v1alpha1:itv1alpha1",
	ours + "generated/clientset/versioned/typed/vm/v1alpha1:vmclient",
	ours + "generated/clientset/versioned/typed/instancetype/v1alpha1:itclient",
	ours + "generated/listers/vm/v1alpha1:vmlisters",
	ours + "generated/listers/instancetype/v1alpha1:itlisters",
	ours + "generated/applyconfiguration/vm/v1alpha1:vmapply",
	ours + "generated/applyconfiguration/instancetype/v1alpha1:itapply",
}

// notExhaustive matches enumerations of which a switch usually needs only a few values.
const notExhaustive = `^go/token\.Token$|^reflect\.Kind$|^net/http\.ConnState$|^github\.com/vmware/govmomi/`

func main() {
	if err := configure(); err != nil {
		fmt.Fprintln(os.Stderr, "analyzers:", err)
		os.Exit(1)
	}
	checks := []*analysis.Analyzer{
		errorlint.NewAnalyzer(),
		exhaustive.Analyzer,
		containedctx.Analyzer,
		importas.Analyzer,
	}
	api, err := apiChecks()
	if err != nil {
		fmt.Fprintln(os.Stderr, "analyzers:", err)
		os.Exit(1)
	}
	checks = append(checks, api...)
	var names []string
	for _, check := range checks {
		check.Run = except(check.Name, check.Run)
		names = append(names, check.Name)
	}
	multichecker.Main(append(checks, exceptions(names))...)
}

func configure() error {
	for _, alias := range aliases {
		if err := importas.Analyzer.Flags.Set("alias", alias); err != nil {
			return fmt.Errorf("setting the alias %s: %w", alias, err)
		}
	}
	for name, value := range map[string]string{"d": "true", "check": "switch", "typeignore": notExhaustive} {
		if err := exhaustive.Analyzer.Flags.Set(name, value); err != nil {
			return fmt.Errorf("setting %s of exhaustive: %w", name, err)
		}
	}
	return nil
}

var nolint = regexp.MustCompile(`^//nolint:([a-z]+) // \S`)

// exceptions checks that each nolint comment has a reason and the name of a check that runs.
func exceptions(checks []string) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name: "nolint", Doc: "nolint checks the format of nolint comments",
		Run: func(pass *analysis.Pass) (any, error) {
			for _, file := range pass.Files {
				for _, group := range file.Comments {
					for _, comment := range group.List {
						if !strings.HasPrefix(comment.Text, "//nolint") {
							continue
						}
						m := nolint.FindStringSubmatch(comment.Text)
						if m == nil || !slices.Contains(checks, m[1]) {
							pass.Reportf(comment.Pos(), "must be //nolint:NAME // REASON with one of the names %s", strings.Join(checks, ", "))
						}
					}
				}
			}
			return nil, nil
		},
	}
}

// except returns run without findings in generated code and on lines with a nolint comment. In tests it also omits
// findings of exhaustive, because an incomplete switch in a test fails.
func except(check string, run func(*analysis.Pass) (any, error)) func(*analysis.Pass) (any, error) {
	return func(pass *analysis.Pass) (any, error) {
		excepted := map[string]bool{}
		line := func(pos token.Pos) string {
			p := pass.Fset.Position(pos)
			return fmt.Sprintf("%s:%d", p.Filename, p.Line)
		}
		generated := map[string]bool{}
		for _, file := range pass.Files {
			generated[pass.Fset.Position(file.Pos()).Filename] = ast.IsGenerated(file)
			for _, group := range file.Comments {
				for _, comment := range group.List {
					if m := nolint.FindStringSubmatch(comment.Text); m != nil && m[1] == check {
						excepted[line(comment.Pos())] = true
					}
				}
			}
		}
		reported := *pass
		reported.Report = func(d analysis.Diagnostic) {
			name := pass.Fset.Position(d.Pos).Filename
			fewValues := check == exhaustive.Analyzer.Name && strings.HasSuffix(name, "_test.go")
			if !excepted[line(d.Pos)] && !generated[name] && !fewValues {
				pass.Report(d)
			}
		}
		return run(&reported)
	}
}
