// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	stdcontext "context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/instances"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// schemed returns the definition of a type, each of whose versions has the given schema of spec; the last one is the one
// for storage.
func schemed(ty *typed, versions ...string) string {
	head, _, _ := strings.Cut(ty.expand(customType), "  versions:")
	for i, version := range versions {
		name, schema, _ := strings.Cut(version, ": ")
		head += fmt.Sprintf("%s  - name: %s\n    served: true\n    storage: %t\n    schema: {openAPIV3Schema: {type: object, properties: {spec: %s}}}\n",
			map[bool]string{true: "  versions:\n"}[i == 0], name, i == len(versions)-1, schema)
	}
	return head
}

func (ty *typed) stored() (names, stored []string) {
	definition := ty.definition()
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, version := range versions {
		names = append(names, version.(map[string]any)["name"].(string)) //nolint:forcetypeassert // a definition
	}
	stored, _, _ = unstructured.NestedStringSlice(definition.Object, "status", "storedVersions")
	return names, stored
}

func validated(s *setup) { s.options.InstanceValidator = instances.NewValidator }

// TestNarrowerDefinitions makes a schema narrower than some instances allow.
func TestNarrowerDefinitions(t *testing.T) {
	t.Parallel()
	ty := newTyped(t, validated)
	const spec = `{type: object, properties: {size: {type: integer}, color: {type: string}}}`
	ty.mustApply(schemed(ty, "v1: "+spec))
	for i := range 5 {
		ty.create(strings.NewReplacer("NAME", fmt.Sprint("w", i), "size: 1", fmt.Sprintf("size: %d, color: c%d", i, i)).Replace(ty.expand(widget)))
	}
	narrow := func(from, to string) string { return strings.Replace(schemed(ty, "v1: "+spec), from, to, 1) }
	for want, manifest := range map[string]string{
		"1 of 5 widgets would be invalid in version v1: NS/w0: spec.size: should be greater than or equal to 1; correct":       narrow("size: {type: integer", "size: {type: integer, minimum: 1"),
		"4 of 5 widgets would be invalid in version v1: NS/w1: spec.color: should match 'c0'; NS/w2: spec.color: should match": narrow("color: {type: string", "color: {type: string, pattern: c0"),
		"5 of 5 widgets would be invalid in version v1: NS/w0: spec.weight: required value;":                                   narrow("{type: object, properties: {size", "{type: object, required: [weight], properties: {weight: {type: integer}, size"),
		"2 of 5 widgets would be invalid in version v1: NS/w1: spec: must be even; NS/w3: spec: must be even; correct":         narrow("{type: object, properties: {size", `{type: object, x-kubernetes-validations: [{rule: "self.size % 2 == 0", message: must be even}], properties: {size`),
	} {
		want = ty.world.expand(want)
		plan, err := ty.engine.Plan(t.Context(), ty.request(manifest), reconciler.PlanOptions{Compare: true})
		if err != nil || !strings.Contains(plan.Changes[0].Refusal, want) {
			t.Errorf("want the plan to say %q, got %v, %q", want, err, plan.Changes[0].Refusal)
		}
		before := ty.definition()
		_, err = ty.apply(manifest)
		ty.expectRefusal(err, want)
		if ty.definition().GetResourceVersion() != before.GetResourceVersion() {
			t.Errorf("%s: the definition was written", want)
		}
	}

	// What makes nothing invalid costs no list.
	ty.requests.Reset()
	wider := narrow("color: {type: string", "weight: {type: integer, minimum: 3}, color: {type: string, maxLength: 3")
	ty.mustApply(strings.Replace(wider, ", maxLength: 3", "", 1))
	if lists := ty.requests.Count(func(request testenv.Request) bool {
		return request.Method == http.MethodGet && strings.HasSuffix(request.Path, "/widgets") && !request.Query.Has("watch")
	}); lists > 0 {
		t.Errorf("%d lists of instances", lists)
	}
	ty.mustApply(wider)

	smallest := strings.Replace(wider, "size: {type: integer", "size: {type: integer, minimum: 1", 1)
	ty.mustApply(strings.Replace(smallest, "{name: widgets", "{annotations: {"+prefix+"/crd-upgrade-policy: allow}, name: widgets", 1))
	// What is invalid already does not count.
	ty.mustApply(strings.Replace(smallest, "maxLength: 3", "maxLength: 2", 1))
	if _, err := ty.apply(strings.Replace(smallest, "{name: widgets", "{annotations: {"+prefix+"/crd-upgrade-policy: maybe}, name: widgets", 1)); err == nil || !strings.Contains(err.Error(), "must be one of: check, allow") {
		t.Errorf("an unknown policy: %v", err)
	}
}

// populate creates instances.
func (ty *typed) populate(count int) {
	create := func(i int) error {
		instance := testenv.Object(ty, strings.ReplaceAll(ty.expand(widget), "NAME", fmt.Sprintf("w%04d", i)))
		instance.SetNamespace(ty.namespace)
		return ty.client.Create(ty.Context(), instance)
	}
	testenv.Eventually(ty, func() (bool, string) { // discovery lists the group before it serves the version
		err := create(0)
		return err == nil, fmt.Sprint(err)
	})
	var all errgroup.Group
	all.SetLimit(20)
	for i := range count - 1 {
		all.Go(func() error { return create(i + 1) })
	}
	if err := all.Wait(); err != nil {
		ty.Fatal(err)
	}
}

var errKilled = errors.New("killed")

// migrate applies a manifest in lives that end with some request, until one is done.
func (ty *typed) migrate(manifest string, requests func() int) (deaths int) {
	ty.Helper()
	for ; ; deaths++ {
		var left atomic.Int64
		left.Store(int64(requests()))
		ctx, kill := stdcontext.WithCancelCause(ty.Context())
		life := ty.restart(func(s *setup) {
			s.config = testenv.Intercept(s.config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
				if left.Add(-1) < 0 {
					kill(errKilled)
					return nil, errKilled
				}
				return next.RoundTrip(request)
			})
		})
		for ctx.Err() == nil {
			result, err := life.engine.Apply(ctx, life.request(manifest))
			if life.owner.Inventory = result.Inventory; err == nil && result.Done {
				ty.owner.Inventory = result.Inventory
				return deaths
			}
			select {
			case <-timer(max(result.RequeueAfter, time.Millisecond)):
			case <-life.woken:
			case <-ctx.Done():
			}
		}
		life.engine.Close()
		ty.owner.Inventory = life.owner.Inventory
	}
}

// expectMigrated compares the instances after a migration to version v2.
func (ty *typed) expectMigrated(count int) {
	ty.Helper()
	names, stored := ty.stored()
	if fmt.Sprint(names, stored) != "[v2] [v2]" || strings.Contains(fmt.Sprint(ty.definition().GetAnnotations()), "storage-migration") {
		ty.Errorf("versions %v, stored %v, annotations %v", names, stored, ty.definition().GetAnnotations())
	}
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(ty.group + "/v2")
	list.SetKind("WidgetList")
	if err := ty.client.List(ty.Context(), list, client.InNamespace(ty.namespace)); err != nil || len(list.Items) != count {
		ty.Errorf("%d instances, %v", len(list.Items), err)
	}
}

const anySpec = ": {type: object, x-kubernetes-preserve-unknown-fields: true}"

// TestStorageMigration removes the only version of a type with 2,000 instances, in a process that is killed now and then.
func TestStorageMigration(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	ty.mustApply(schemed(ty, "v1"+anySpec))
	const count = 2000
	ty.populate(count)
	next := schemed(ty, "v2"+anySpec)
	plan, err := ty.engine.Plan(t.Context(), ty.request(next), reconciler.PlanOptions{Compare: true})
	if err != nil || plan.Changes[0].Refusal != "" || !strings.Contains(plan.Changes[0].Reason, "its instances are stored in another version first, because a version is removed: v1") {
		t.Errorf("unexpected plan: %v, %+v", err, plan.Changes)
	}
	deaths := ty.migrate(next, func() int { return 20 + rand.IntN(600) })
	ty.expectMigrated(count)
	if deaths < 3 {
		t.Errorf("%d deaths only", deaths)
	}
}

// TestStorageMigrationKilledAtEachRequest kills the process once, at each of its requests.
func TestStorageMigrationKilledAtEachRequest(t *testing.T) {
	t.Parallel()
	var all errgroup.Group
	all.SetLimit(8)
	var survived atomic.Bool
	for k := 1; k < 100 && !survived.Load(); k++ {
		all.Go(func() error {
			ty := newTyped(t)
			ty.mustApply(schemed(ty, "v1"+anySpec))
			ty.populate(10)
			first := true
			deaths := ty.migrate(schemed(ty, "v2"+anySpec), func() int {
				if first {
					first = false
					return k
				}
				return 1 << 30
			})
			if deaths == 0 {
				survived.Store(true)
			}
			ty.expectMigrated(10)
			return nil
		})
	}
	if err := all.Wait(); err != nil || !survived.Load() {
		t.Errorf("no process has survived; %v", err)
	}
}

// TestStorageMigrationKeepsFields removes versions that have fewer fields than the new one, and refuses to lose fields.
func TestStorageMigrationKeepsFields(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	const small, large = ": {type: object, properties: {size: {type: integer}}}", ": {type: object, properties: {size: {type: integer}, color: {type: string}}}"
	ty.mustApply(schemed(ty, "v1"+small, "v2"+large))
	instance := strings.NewReplacer("NAME", "w", "/v1", "/v2", "size: 1", "size: 1, color: red")
	ty.create(instance.Replace(ty.expand(widget)))
	for want, next := range map[string]string{
		"widgets that are stored in version v2 would lose fields that version v3 does not have: spec.color; add them, or set the annotation": schemed(ty, "v3"+small),
		"version v2 cannot be removed while widgets are stored in it, and only a webhook can convert them to version v3: apply a definition with both versions first": schemed(ty, "v3"+large) +
			"  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: \"https://127.0.0.1:1/\"}}}\n",
		"version v2 cannot be removed while widgets are stored in it, because version v3 is not served": strings.Replace(schemed(ty, "v1"+large, "v3"+large), "    served: true\n    storage: true", "    served: false\n    storage: true", 1),
	} {
		_, err := ty.apply(next)
		ty.expectRefusal(err, want)
		plan, err := ty.engine.Plan(t.Context(), ty.request(next), reconciler.PlanOptions{Compare: true})
		if err != nil || !strings.Contains(plan.Changes[0].Refusal, want) {
			t.Errorf("want the plan to say %q, got %v, %q", want, err, plan.Changes[0].Refusal)
		}
	}
	ty.mustApply(schemed(ty, "v2"+large))
	ty.expectMigrated(1)
	if got := ty.get(ty.group+"/v2", "Widget", "w"); fmt.Sprint(got.Object["spec"]) != "map[color:red size:1]" {
		t.Errorf("got %v", got.Object["spec"])
	}
}

// TestConversionDown migrates a type whose conversion webhook does not answer.
func TestConversionDown(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	ty.mustApply(schemed(ty, "v1"+anySpec))
	ty.populate(3)
	both := schemed(ty, "v1"+anySpec, "v2"+anySpec) + `  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://127.0.0.1:1/convert"}}
`
	ty.mustApply(both)
	next := schemed(ty, "v2"+anySpec)
	testenv.Eventually(t, func() (bool, string) {
		result, err := ty.apply(next)
		return strings.Contains(notices(result.Waits), "conversion webhook for "+ty.group+"/v1, Kind=Widget failed"), fmt.Sprint(err, notices(result.Waits))
	})
	if names, stored := ty.stored(); len(names) != 2 || len(stored) != 2 {
		t.Errorf("versions %v, stored %v", names, stored)
	}
	ty.patch(ty.definition(), `{"spec": {"conversion": {"strategy": "None", "webhook": null}}}`)
	ty.mustApply(next)
	ty.expectMigrated(3)
}
