// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/requests"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/types"
)

// life contains the durations of components' creation and deletion, and the requests between creation and readiness.
type life struct {
	created, deleted, applies, removes []time.Duration
	traffic                            traffic
}

// liveAndDie creates and deletes components one after the other.
func (l *lab) liveAndDie(ctx context.Context, spec BundleSpec) (*life, error) {
	o, err := l.startOperator(ctx)
	if err != nil {
		return nil, err
	}
	found := &life{}
	return found, l.repeat(ctx, func(name string, limits limits) error {
		before := o.requests.Len()
		created, err := l.create(ctx, name, spec)
		if err != nil {
			return err
		}
		sent, err := o.idle(ctx, before)
		if err != nil {
			return err
		}
		if err := l.settle(ctx); err != nil {
			return err
		}
		deleted, err := l.remove(ctx, name)
		found.created, found.deleted = append(found.created, created), append(found.deleted, deleted)
		found.applies, found.removes = append(found.applies, limits.apply), append(found.removes, limits.remove)
		found.traffic.add(sent)
		return err
	})
}

// createComponent measures the creation of a component with one wave until it is ready, and its deletion until it is
// gone.
func createComponent(ctx context.Context, l *lab) ([]figure, error) {
	found, err := l.liveAndDie(ctx, usual)
	if err != nil {
		return nil, err
	}
	return []figure{
		speed("500 dependents, created to Ready", found.created, found.applies).atMost(barRatio, 1.5),
		most("writes to dependents", found.traffic.writes...).exactly(manyDependents),
		most("reads of dependents", found.traffic.reads...).exactly(0),
		most("other requests", found.traffic.others...).atMost(barValue, 6),
		most("events", found.traffic.events...).atMost(barValue, 3),
		speed("500 dependents, deleted to gone", found.deleted, found.removes).atMost(barRatio, 1.5),
	}, nil
}

// createWaves measures a component with many waves.
func createWaves(ctx context.Context, l *lab) ([]figure, error) {
	spec := usual
	spec.Waves = 10
	found, err := l.liveAndDie(ctx, spec)
	if err != nil {
		return nil, err
	}
	return []figure{
		speed("10 waves of 50, created to Ready", found.created, found.applies).atMost(barRatio, 2),
		most("writes to dependents", found.traffic.writes...).exactly(manyDependents),
	}, nil
}

// changeOne measures the time for a change of the spec that affects one of many dependents.
func changeOne(ctx context.Context, l *lab) ([]figure, error) {
	o, err := l.startMany(ctx, 1, usual)
	if err != nil {
		return nil, err
	}
	bundle := l.newBundle(dependentName(l.name, 0), BundleSpec{})
	var times []time.Duration
	var traffic traffic
	for i := range pick(l, 5, 20) {
		before := o.requests.Len()
		patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"salt":"%d"}}`, i))
		if err := l.bench.client.Patch(ctx, bundle, patch); err != nil {
			return nil, fmt.Errorf("changing the component: %w", err)
		}
		changed := time.Now()
		written, err := o.awaitRequest(ctx, before, isDependentWrite)
		if err != nil {
			return nil, err
		}
		sent, err := o.idle(ctx, before)
		if err != nil {
			return nil, err
		}
		times = append(times, written.Answered.Sub(changed))
		traffic.add(sent)
	}
	return []figure{
		latency("change of the spec to response of the dependent's write", times).atMost(barValue, 100),
		most("writes to dependents", traffic.writes...).exactly(1),
		most("reads of dependents", traffic.reads...).exactly(0),
	}, nil
}

// heal measures the time until a change by another client is corrected.
func heal(ctx context.Context, l *lab) ([]figure, error) {
	o, err := l.startMany(ctx, 1, usual)
	if err != nil {
		return nil, err
	}
	bundle, samples := dependentName(l.name, 0), pick(l, 20, 100)
	var times []time.Duration
	var writes []int
	for i := range samples {
		if i >= 20 {
			// Changes of dependents may cause about fifty passes in quick succession, and then one per second.
			if err := pause(ctx, 2*time.Second); err != nil {
				return nil, err
			}
		}
		// Each dependent is changed once: repeated corrections of the same one are delayed.
		took, written, err := o.healOne(ctx, dependentName(bundle, i*manyDependents/samples))
		if err != nil {
			return nil, err
		}
		times, writes = append(times, took), append(writes, written)
	}
	return []figure{
		latency("response to the foreign write to our write, 1 of 500", times).atMost(barP99, 100),
		most("writes to dependents", writes...).exactly(1),
	}, nil
}

// healOne changes a dependent. It returns the time until the correction is sent, and the number of writes.
func (o *operator) healOne(ctx context.Context, name string) (time.Duration, int, error) {
	before := o.requests.Len()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: name}}
	if err := o.bench.client.Patch(ctx, object, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"content":"changed"}}`))); err != nil {
		return 0, 0, fmt.Errorf("changing a dependent: %w", err)
	}
	changed := time.Now()
	corrected, err := o.awaitRequest(ctx, before, func(r requests.Request) bool { return isDependentWrite(r) && r.Name == name })
	if err != nil {
		return 0, 0, err
	}
	sent, err := o.idle(ctx, before)
	return corrected.Sent.Sub(changed), tally(sent, isDependentWrite), err
}

// restart measures a new process of the operator when nothing has changed.
func restart(ctx context.Context, l *lab) ([]figure, error) {
	return l.restarts(ctx, 1, manyDependents, 500)
}

// coldStart measures a new process of the operator with many unchanged components.
func coldStart(ctx context.Context, l *lab) ([]figure, error) {
	return l.restarts(ctx, pick(l, 100, 2000), 20, 30000)
}

// restarts measures the time in a new process from the point when it knows n components until the first pass of each
// has ended.
func (l *lab) restarts(ctx context.Context, n int, dependents int64, bar float64) ([]figure, error) {
	o, err := l.startMany(ctx, n, BundleSpec{Dependents: dependents, PayloadBytes: 100})
	if err != nil {
		return nil, err
	}
	var times []time.Duration
	var traffic traffic
	for range l.repeats {
		if err := o.stop(); err != nil {
			return nil, fmt.Errorf("running the operator: %w", err)
		}
		if o, err = l.startOperator(ctx); err != nil {
			return nil, err
		}
		passed, err := o.awaitPasses(ctx, n)
		if err != nil {
			return nil, err
		}
		all, err := o.idle(ctx, 0)
		if err != nil {
			return nil, err
		}
		times = append(times, passed.Sub(o.synced))
		traffic.add(all)
	}
	return []figure{
		latency(fmt.Sprintf("%d x %d dependents, components known to first passes ended", n, dependents), times).atMost(barValue, bar),
		most("writes to dependents", traffic.writes...).exactly(0),
		most("reads of dependents", traffic.reads...).exactly(0),
	}, nil
}

// atRest measures the requests and the processor time of an idle operator.
func atRest(ctx context.Context, l *lab) ([]figure, error) {
	n, duration := pick(l, 50, 1000), pick(l, 30*time.Second, 10*time.Minute)
	o, err := l.startMany(ctx, n, BundleSpec{Dependents: 10, PayloadBytes: 100})
	if err != nil {
		return nil, err
	}
	before, started, used := o.requests.Len(), time.Now(), processorTime()
	if err := pause(ctx, duration); err != nil {
		return nil, err
	}
	share := 100 * (processorTime() - used).Seconds() / time.Since(started).Seconds()
	busy := tally(o.requests.Since(before), func(r requests.Request) bool { return !r.IsWatch() && !isLease(r) })
	what := fmt.Sprintf("%d components x 10, %s", n, duration)
	return []figure{
		most(what+": requests besides watches and leases", busy).exactly(0),
		amount(what+": share of a core", share, "%").atMost(barValue, 1),
	}, nil
}

// reconcilerName is the name of the operator under test, and the group of its components.
const reconcilerName = "bench.component-operator.io"

// bundleDefinition is the definition of the components.
//
//go:embed crds/bench.component-operator.io_bundles.yaml
var bundleDefinition []byte

// Bundle is the component under test: as many dependents as its spec says.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Bundle struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec BundleSpec `json:"spec,omitempty"`
	// +kubebuilder:default={"observedGeneration":-1}
	Status component.Status `json:"status,omitempty"`
}

// BundleSpec says what the dependents are.
type BundleSpec struct {
	// Dependents is the number of ConfigMaps.
	Dependents int64 `json:"dependents"`
	// Waves is the number of apply orders over which they are spread evenly. Defaults to 1.
	Waves int64 `json:"waves,omitempty"`
	// PayloadBytes is the size of the content of each dependent.
	PayloadBytes int64 `json:"payloadBytes,omitempty"`
	// Salt is part of the content of the first dependent; changing it changes that one.
	Salt string `json:"salt,omitempty"`
}

// BundleList is a list of bundles.
//
// +kubebuilder:object:root=true
type BundleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Bundle `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (b *Bundle) DeepCopyObject() runtime.Object { return b.copied() }

func (b *Bundle) copied() *Bundle {
	copied := *b
	b.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	b.Status.DeepCopyInto(&copied.Status)
	return &copied
}

// DeepCopyObject implements runtime.Object.
func (l *BundleList) DeepCopyObject() runtime.Object {
	copied := *l
	copied.Items = make([]Bundle, len(l.Items))
	for i := range l.Items {
		copied.Items[i] = *l.Items[i].copied()
	}
	return &copied
}

// GetSpec implements component.Component.
func (b *Bundle) GetSpec() types.Unstructurable {
	return types.UnstructurableMap{
		"dependents": b.Spec.Dependents, "waves": b.Spec.Waves, "payloadBytes": b.Spec.PayloadBytes, "salt": b.Spec.Salt,
	}
}

// GetStatus implements component.Component.
func (b *Bundle) GetStatus() *component.Status { return &b.Status }

// newScheme returns a scheme with the types of the components, and of what they need.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	groupVersion := schema.GroupVersion{Group: reconcilerName, Version: "v1"}
	scheme.AddKnownTypes(groupVersion, &Bundle{}, &BundleList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	return scheme, errors.Join(corev1.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme))
}

// bundleGenerator generates the dependents. It is pure.
type bundleGenerator struct{}

// Fingerprint implements manifests.Pure.
func (bundleGenerator) Fingerprint() string { return "bundle/1" }

// Generate implements manifests.Generator.
func (bundleGenerator) Generate(_ context.Context, namespace, name string, parameters types.Unstructurable) ([]client.Object, error) {
	values := parameters.ToUnstructured()
	number := func(key string) int64 {
		value, _ := values[key].(int64)
		return value
	}
	salt, _ := values["salt"].(string)
	count, waves := number("dependents"), max(1, number("waves"))
	objects := make([]client.Object, 0, count)
	for i := range count {
		content := payload(int(number("payloadBytes")))
		if i == 0 {
			content += salt
		}
		object := newConfigMap(dependentName(name, int(i)), content)
		object.SetNamespace(namespace)
		if waves > 1 {
			order := strconv.FormatInt(i*waves/count, 10)
			object.SetAnnotations(map[string]string{reconcilerName + "/" + types.AnnotationKeySuffixApplyOrder: order})
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// dependentName returns the name of a dependent.
func dependentName(bundle string, index int) string { return fmt.Sprintf("%s-%d", bundle, index) }

// payload returns a text of this size.
func payload(size int) string { return strings.Repeat("0123456789abcdef", size/16+1)[:size] }

func newConfigMap(name, content string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   map[string]any{"name": name},
		"data":       map[string]any{"content": content},
	}}
}
