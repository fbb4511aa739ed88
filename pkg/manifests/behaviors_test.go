// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/status"
)

// allBehaviors are one value of each behavior.
func allBehaviors() []any {
	return []any{
		behaviors.AtStep(3),
		behaviors.NotAwaited{},
		behaviors.DeletedOnSuspend{},
		behaviors.Reads{},
		behaviors.GracePeriod(1),
		behaviors.DeleteOrder(1),
		behaviors.Reset(func() {}),
		behaviors.Guard(func() (string, error) { return "", nil }),
		behaviors.Complete(func(*unstructured.Unstructured) error { return nil }), behaviors.Extract(func(*unstructured.Unstructured) error { return nil }),
		status.NewAnalyzer("demo.example.io", status.Options{}),
	}
}

// TestTransformersKeepBehaviors runs each transformer over objects with all behaviors, typed and unstructured, and one
// without, which it changes.
func TestTransformersKeepBehaviors(t *testing.T) {
	t.Parallel()
	made := func(transformer manifests.ObjectTransformer, err error) manifests.ObjectTransformer {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return transformer
	}
	renaming := manifests.KustomizePatch{
		Patch: "- {op: replace, path: /metadata/name, value: renamed}\n- {op: add, path: /data/new, value: x}", Target: &manifests.KustomizeSelector{Name: "typed"},
	}
	removing := manifests.KustomizePatch{Patch: "{kind: x, metadata: {name: x}, $patch: delete}", Target: &manifests.KustomizeSelector{Name: "bare"}}
	for name, tc := range map[string]struct {
		transformer manifests.ObjectTransformer
		err         string
	}{
		"suspended forms": {manifests.NewSuspensionObjectTransformer(), ""},
		"policy rules":    {made(manifests.NewPolicyRulesObjectTransformer([]manifests.PolicyRule{{Set: map[string]string{"apply-order": "1"}}})), ""},
		"substitution":    {made(manifests.NewSubstitutionObjectTransformer(map[string]string{"x": "y"}, nil)), ""},
		"images":          {made(manifests.NewKustomizeObjectTransformer(nil, []manifests.KustomizeImage{{Name: "a", NewTag: "2"}})), ""},
		"patches": {made(manifests.NewKustomizeObjectTransformer([]manifests.KustomizePatch{
			{Patch: "- {op: add, path: /data/new, value: x}", Target: &manifests.KustomizeSelector{Kind: "ConfigMap"}},
		}, nil)), ""},
		"patches that rename": {made(manifests.NewKustomizeObjectTransformer([]manifests.KustomizePatch{renaming}, nil)), ""},
		"patches that rename and remove": {
			made(manifests.NewKustomizeObjectTransformer([]manifests.KustomizePatch{renaming, removing}, nil)),
			"ConfigMap ns/typed has behaviors (Awaited, Extracting, Graceful, Guarded, Judged, Late, Ordered, Reading, Resetting, Stepped, Suspending)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			typed := behaviors.Attach(configMap("ns", "typed", map[string]string{"a": "${x}"}), allBehaviors()...)
			loose := behaviors.Attach(object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: loose, namespace: ns}, data: {a: '${x}'}}"), allBehaviors()...)
			bare := configMap("ns", "bare", map[string]string{"a": "${x}"})
			transformed, err := transform(t, tc.transformer, typed, bare, loose)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("expected an error with %q, got %v", tc.err, err)
				}
				return
			}
			if err != nil || len(transformed) != 3 {
				t.Fatal(transformed, err)
			}
			want := []string{"Awaited", "Extracting", "Graceful", "Guarded", "Judged", "Late", "Ordered", "Reading", "Resetting", "Stepped", "Suspending"}
			for i, names := range [][]string{want, nil, want} {
				if diff := cmp.Diff(names, behaviors.Names(transformed[i])); diff != "" {
					t.Errorf("behaviors of %s (-want +got):\n%s", transformed[i].GetName(), diff)
				}
				if _, copied := transformed[i].DeepCopyObject().(client.Object); !copied {
					t.Errorf("%s cannot be copied", transformed[i].GetName())
				}
			}
			if step, ok := behaviors.Of[behaviors.Stepped](transformed[0]); !ok || step.Step() != 3 {
				t.Errorf("expected step 3, got %v", step)
			}
		})
	}
}

// TestSuspendedForms checks what becomes of objects of each type while a component is suspended.
func TestSuspendedForms(t *testing.T) {
	t.Parallel()
	transformer := manifests.NewSuspensionObjectTransformer()
	for manifest, want := range map[string]map[string]any{
		"{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2, paused: true}}": {"replicas": int64(0), "paused": true},
		"{apiVersion: apps/v1, kind: StatefulSet}":                                   {"replicas": int64(0)},
		"{apiVersion: batch/v1, kind: CronJob, spec: {suspend: false, schedule: x}}": {"suspend": true, "schedule": "x"},
		"{apiVersion: apps/v1, kind: DaemonSet, spec: {a: b}}":                       nil,
		"{apiVersion: batch/v1, kind: Job}":                                          nil,
		"{apiVersion: apps.example.io/v1, kind: Deployment, spec: {replicas: 2}}":    nil,
	} {
		transformed, err := transform(t, transformer, object(t, manifest))
		if err != nil {
			t.Fatal(err)
		}
		suspending, ok := behaviors.Of[behaviors.Suspending](transformed[0])
		if ok != (want != nil) {
			t.Errorf("%s: a suspended form: %t", manifest, ok)
		}
		if !ok {
			continue
		}
		form := object(t, manifest)
		if err := suspending.Suspend(form); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, form.Object["spec"]); diff != "" || suspending.IsDeleted() {
			t.Errorf("%s (-want +got):\n%s", manifest, diff)
		}
	}
	own := behaviors.Attach(object(t, "{apiVersion: apps/v1, kind: Deployment}"), behaviors.DeletedOnSuspend{})
	transformed, err := transform(t, transformer, own)
	if suspending, _ := behaviors.Of[behaviors.Suspending](transformed[0]); err != nil || !suspending.IsDeleted() {
		t.Errorf("the object's own behavior is lost: %v, %v", suspending, err)
	}
	if _, err := transform(t, transformer, object(t, "{kind: Deployment}")); err == nil || !strings.Contains(err.Error(), "apiVersion") {
		t.Errorf("got error %v", err)
	}
}
