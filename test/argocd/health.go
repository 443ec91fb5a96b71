// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/yaml"

	"github.com/slipway-dev/slipway/artifacts"
)

// Health is the health that Argo CD shows for an object.
type Health struct {
	// Status is Healthy, Progressing, Degraded or Suspended.
	Status string
	// Message is the reason for the status.
	Message string
}

// Checks are the scripts of a ConfigMap, by the pattern of group and kind.
type Checks map[string]string

// Shipped returns the checks of the ConfigMap that users merge into that of Argo CD.
func Shipped() (Checks, error) {
	var config corev1.ConfigMap
	if err := yaml.UnmarshalStrict(artifacts.ArgoCD, &config); err != nil {
		return nil, fmt.Errorf("decoding the ConfigMap: %w", err)
	}
	var customizations map[string]struct {
		Health string `json:"health.lua"`
	}
	if err := yaml.UnmarshalStrict([]byte(config.Data["resource.customizations"]), &customizations); err != nil {
		return nil, fmt.Errorf("decoding resource.customizations: %w", err)
	}
	checks := Checks{}
	for pattern, c := range customizations {
		checks[pattern] = c.Health
	}
	return checks, nil
}

// maxRun is how long a script may run, as in Argo CD.
const maxRun = time.Second

// Of returns the health of an object. An object that is being deleted is Progressing without a script, as in Argo CD.
func (c Checks) Of(object *unstructured.Unstructured) (Health, error) {
	if object.GetDeletionTimestamp() != nil {
		return Health{Status: "Progressing", Message: "Pending deletion"}, nil
	}
	kind := object.GroupVersionKind()
	for pattern, script := range c {
		// Patterns in our ConfigMap contain exactly one slash, so an asterisk never has to match a slash.
		if fits, err := path.Match(pattern, kind.Group+"/"+kind.Kind); err != nil {
			return Health{}, fmt.Errorf("pattern %q: %w", pattern, err)
		} else if fits {
			return run(script, object)
		}
	}
	return Health{}, fmt.Errorf("no check of health is for %s/%s", kind.Group, kind.Kind)
}

// alike maps a kstatus result to the equivalent Argo CD status.
var alike = map[kstatus.Status]string{
	kstatus.CurrentStatus: "Healthy", kstatus.InProgressStatus: "Progressing", kstatus.FailedStatus: "Degraded", kstatus.TerminatingStatus: "Progressing",
}

// Agree returns an error if Argo CD and kstatus report different health. kstatus has no equivalent of Suspended.
func (c Checks) Agree(object *unstructured.Unstructured, said *kstatus.Result) error {
	health, err := c.Of(object)
	if err != nil || health.Status == "Suspended" {
		return err
	}
	if want := alike[said.Status]; health.Status != want {
		return fmt.Errorf("%s %s is %s (%s) to Argo CD, and %s (%s) to kstatus", object.GetKind(), object.GetName(), health.Status, health.Message, said.Status, said.Message)
	}
	return nil
}

// run runs one script with the object as the global obj.
func run(script string, object *unstructured.Unstructured) (Health, error) {
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := l.CallByParam(lua.P{Fn: l.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			return Health{}, fmt.Errorf("opening the library %q of Lua: %w", name, err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxRun)
	defer cancel()
	l.SetContext(ctx)
	l.SetGlobal("obj", valueOf(l, object.Object))
	if err := l.DoString(script); err != nil {
		return Health{}, fmt.Errorf("the check of %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	answer, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		return Health{}, fmt.Errorf("the check of %s %s returned a %s, want a table", object.GetKind(), object.GetName(), l.Get(-1).Type())
	}
	health := Health{Status: lua.LVAsString(answer.RawGetString("status")), Message: lua.LVAsString(answer.RawGetString("message"))}
	if !strings.Contains(" Healthy Progressing Degraded Suspended ", " "+health.Status+" ") {
		return Health{}, fmt.Errorf("the check of %s %s returned %q, which is not a status of Argo CD", object.GetKind(), object.GetName(), health.Status)
	}
	return health, nil
}

// valueOf converts a JSON value to Lua, which has one type for all numbers.
func valueOf(l *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case map[string]any:
		table := l.NewTable()
		for key, item := range v {
			table.RawSetString(key, valueOf(l, item))
		}
		return table
	case []any:
		table := l.NewTable()
		for _, item := range v {
			table.Append(valueOf(l, item))
		}
		return table
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	}
	return lua.LNil
}
