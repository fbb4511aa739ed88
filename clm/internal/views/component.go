// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package views

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/chunks"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/types"
)

// Component is a custom resource that an operator reconciles which is made with component-operator-runtime.
type Component struct {
	Object *unstructured.Unstructured
	Status component.Status
	// Inventory are the dependents, wherever they are recorded.
	Inventory []*inventory.Item
	// Problem is why the inventory is not complete; empty if it is.
	Problem string
	// Cluster describes the cluster of the dependents; empty if it is that of the component.
	Cluster string

	// operator is the name of the reconciler, the prefix of its labels and annotations; empty if no dependent exists.
	operator string
	// id is the owner ID on the dependents.
	id string
}

// IsNew reports whether no operator has written a status yet.
func (f *Component) IsNew() bool { return f.Status.State == "" }

// lookAtComponent reads a component and its inventory. The result is nil if the component does not exist.
func lookAtComponent(ctx context.Context, c *runner.Connection, target Target) (*Component, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(target.Mapping.GroupVersionKind)
	if err := c.Client().Get(ctx, client.ObjectKey{Namespace: target.Namespace, Name: target.Name}, object); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	name := display.ObjectOf(object).String()
	found := &Component{Object: object}
	content, _, _ := unstructured.NestedMap(object.Object, "status")
	if state, _ := content["state"].(string); state == "" {
		// A new component has no status, or the default of its definition.
		group := target.Mapping.GroupVersionKind.Group
		if delete(content, "observedGeneration"); len(content) > 0 || !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") {
			return nil, releases.Refused("%s is no component: no operator has reported its status.state", name)
		}
		return found, nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &found.Status); err != nil {
		return nil, fmt.Errorf("reading the status of %s: %w", name, err)
	}
	if err := found.recall(ctx, c.Client()); err != nil {
		// The operator may have replaced the record meanwhile. Otherwise, the rest of the status is worth more than nothing.
		now := object.DeepCopy()
		if err := c.Client().Get(ctx, client.ObjectKeyFromObject(object), now); err != nil || now.GetResourceVersion() != object.GetResourceVersion() {
			return lookAtComponent(ctx, c, target)
		}
		found.Problem = "reading the inventory: " + err.Error()
	}
	if _, mark, marked := strings.Cut(found.Status.ProcessingDigest, ";cluster="); marked && mark != "local" {
		uid, host, _ := strings.Cut(mark, "@")
		found.Cluster = strings.TrimPrefix(host+" (UID "+uid+")", " ")
		return found, nil
	}
	found.identify(ctx, c.Client())
	return found, nil
}

// recall loads the inventory in any of its forms.
func (f *Component) recall(ctx context.Context, reader client.Reader) error {
	f.Inventory = chunks.ValidInventory(f.Status.Inventory)
	record := f.Status.InventoryRecord
	if record == nil || record.Inline {
		return nil
	}
	prefix := ""
	if len(record.Chunks) > 0 {
		prefix = record.Chunks[0][:max(strings.LastIndex(record.Chunks[0], "-"), 0)]
	}
	list := chunks.List{Items: record.Items, Checksum: record.Checksum, Packed: record.Content, Chunks: record.Chunks}
	found, err := chunks.NewStore(chunks.Options{Reader: reader, Kind: chunks.ConfigMap, Namespace: record.Namespace, Prefix: prefix}).Load(ctx, list)
	if err != nil {
		return err
	}
	f.Inventory = chunks.DecodeInventory(&found, list)
	if len(found.Damage) > 0 {
		return fmt.Errorf("the record is damaged; the operator repairs it: %s", strings.Join(found.Damage, "; "))
	}
	return nil
}

// identify finds the name of the operator on a dependent: the status does not have it.
func (f *Component) identify(ctx context.Context, reader client.Reader) {
	const suffix = "/" + types.AnnotationKeySuffixOwnerId
	const mostTries = 20
	tried, tries := sets.New[inventory.TypeVersionInfo](), 0
	for _, item := range f.Inventory {
		dependent := &metav1.PartialObjectMetadata{}
		dependent.SetGroupVersionKind(item.GroupVersionKind())
		if item.UID == "" || tried.Has(item.TypeVersionInfo) {
			continue
		}
		err := reader.Get(ctx, client.ObjectKey{Namespace: item.Namespace, Name: item.Name}, dependent)
		if tries++; ctx.Err() != nil || tries == mostTries {
			return
		}
		if err != nil && !apierrors.IsNotFound(err) {
			// The user may not read this kind, or it is not served.
			tried.Insert(item.TypeVersionInfo)
		}
		for key, value := range dependent.Annotations {
			operator, isOwner := strings.CutSuffix(key, suffix)
			if isOwner && strings.HasSuffix(value, "/"+f.Object.GetNamespace()+"/"+f.Object.GetName()) {
				f.operator, f.id = operator, value
				return
			}
		}
	}
}

// inspection returns the options for package live to read the dependents.
func (f *Component) inspection(c *runner.Connection) live.Options {
	options := runner.InspectionOf(c, f.operator, f.Inventory)
	if f.id != "" {
		options.Selector = labels.SelectorFromSet(labels.Set{f.operator + "/" + types.LabelKeySuffixOwnerId: manifest.OwnerLabel(f.id)})
	}
	return options
}

// recorded returns the dependents as the operator has recorded them.
func (f *Component) recorded() []*display.Node {
	return display.Map(f.Inventory, func(item *inventory.Item) *display.Node {
		return &display.Node{
			Dependent:  display.Dependent{Object: display.ObjectOf(item), Wave: item.ApplyOrder, Phase: item.Phase, Status: item.Status},
			ApplyOrder: item.ApplyOrder, Item: item,
		}
	})
}

// Conditions returns the conditions that are about the present generation.
func (f *Component) Conditions() []component.Condition {
	return slices.DeleteFunc(slices.Clone(f.Status.Conditions), func(c component.Condition) bool {
		return c.ObservedGeneration != 0 && c.ObservedGeneration != f.Object.GetGeneration()
	})
}

func (f *Component) is(wanted component.ConditionType) bool {
	return slices.ContainsFunc(f.Conditions(), func(c component.Condition) bool { return c.Type == wanted && c.Status == component.ConditionTrue })
}
