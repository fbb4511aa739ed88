// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/internal/testenv"
)

const objectsOfTheCity = 12

// city is a release of 12 objects in three waves, of which one defines the type of another one, and two have no
// namespace.
type city struct {
	*place

	release string
	file    string
	group   string
	names   []string // of all objects, with their kinds; sorted
}

func newCity(p *place, name string) *city {
	p.Helper()
	c := &city{place: p, release: name, group: name + "." + p.namespace + ".example.com"}
	var text strings.Builder
	add := func(wave int, apiVersion, kind, name, rest string) {
		fmt.Fprintf(&text, "---\napiVersion: %s\nkind: %s\nmetadata: {name: %q, annotations: {clm.cs.sap.com/apply-order: %q}}\n%s\n",
			apiVersion, kind, name, fmt.Sprint(wave), rest)
		c.names = append(c.names, kind+" "+name)
	}
	add(-1, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "towers."+c.group, `spec:
  group: `+c.group+`
  scope: Namespaced
  names: {kind: Tower, listKind: TowerList, plural: towers, singular: tower}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]`)
	add(0, c.group+"/v1", "Tower", name, "spec: {height: 100}")
	add(0, "rbac.authorization.k8s.io/v1", "ClusterRole", p.namespace+"-"+name, "rules: []")
	for i := range objectsOfTheCity - 3 {
		if i%2 == 0 {
			add(i%3-1, "v1", "ConfigMap", fmt.Sprintf("%s-%d", name, i), "data: {number: \""+fmt.Sprint(i)+"\"}")
		} else {
			add(i%3-1, "v1", "Service", fmt.Sprintf("%s-%d", name, i), "spec: {ports: [{port: "+fmt.Sprint(8000+i)+"}]}")
		}
	}
	slices.Sort(c.names)
	c.file = p.file(name+".yaml", text.String())
	return c
}

// record reads what is recorded of the release.
func (c *city) record() (*releases.Release, error) {
	c.Helper()
	factory, err := clients.New(clients.Options{Name: "test", Config: testenv.Config(c)})
	if err != nil {
		c.Fatal(err)
	}
	defer factory.Close()
	return releases.NewStore(factory.Local()).Get(c.Context(), c.namespace, c.release)
}

// ready reports whether the release is recorded as ready.
func (c *city) ready() bool {
	c.Helper()
	release, err := c.record()
	return err == nil && release.State == releases.StateReady
}

func (c *city) recorded() bool {
	c.Helper()
	_, err := c.record()
	if err != nil && !errors.Is(err, releases.ErrNotFound) {
		c.Error(err)
	}
	return err == nil
}

// labelled returns the objects that carry a label with the owner's digest.
func (c *city) labelled(label string, kinds ...schema.GroupVersionKind) []string {
	c.Helper()
	value := manifest.OwnerLabel(releases.OwnerID(c.namespace, c.release))
	var names []string
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := c.client.List(c.Context(), list, client.MatchingLabels{label: value}); err != nil {
			c.Errorf("listing %s: %v", kind, err)
		}
		for i, object := range list.Items {
			names = append(names, object.GetKind()+" "+object.GetName())
			c.expectContent(&list.Items[i])
		}
	}
	slices.Sort(names)
	return names
}

// expectContent looks at what stands in the manifest.
func (c *city) expectContent(object *unstructured.Unstructured) {
	c.Helper()
	number := object.GetName()[strings.LastIndex(object.GetName(), "-")+1:]
	switch object.GetKind() {
	case "ConfigMap":
		if data, _, _ := unstructured.NestedString(object.Object, "data", "number"); data != number {
			c.Errorf("ConfigMap %s has number %q", object.GetName(), data)
		}
	case "Service":
		ports, _, _ := unstructured.NestedSlice(object.Object, "spec", "ports")
		if len(ports) != 1 {
			c.Errorf("Service %s has ports %v", object.GetName(), ports)
		}
	}
}

var (
	configMaps = corev1.SchemeGroupVersion.WithKind("ConfigMap")
	secrets    = corev1.SchemeGroupVersion.WithKind("Secret")
	fixedKinds = []schema.GroupVersionKind{
		configMaps, corev1.SchemeGroupVersion.WithKind("Service"),
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
	}
)

// expectApplied checks that the cluster has what was applied, that the record says so, and that there is nothing else.
func (c *city) expectApplied() {
	c.Helper()
	kinds := append(slices.Clone(fixedKinds), schema.GroupVersionKind{Group: c.group, Version: "v1", Kind: "Tower"})
	if diff := cmp.Diff(c.names, c.labelled("clm.cs.sap.com/owner-id", kinds...)); diff != "" {
		c.Errorf("objects in the cluster (-want +got):\n%s", diff)
	}
	release, err := c.record()
	if err != nil {
		c.Error(err)
		return
	}
	var items []string
	for _, item := range release.Inventory {
		items = append(items, item.Kind+" "+item.Name)
	}
	slices.Sort(items)
	if diff := cmp.Diff(c.names, items); diff != "" {
		c.Errorf("inventory (-want +got):\n%s", diff)
	}
	if release.State != releases.StateReady || len(release.Revisions) != 1 || release.Revisions[0].State != releases.RevisionReady {
		c.Errorf("release is %s, with revisions %v", release.State, release.Revisions)
	}
	if chunks := c.labelled("clm.cs.sap.com/inventory-owner-id", secrets); len(chunks) != 1 {
		c.Errorf("the only revision is in one chunk, but there are %v", chunks)
	}
}

// expectDeleted checks that nothing is left.
func (c *city) expectDeleted() {
	c.Helper()
	if left := c.labelled("clm.cs.sap.com/owner-id", fixedKinds...); len(left) > 0 {
		c.Errorf("left in the cluster: %v", left)
	}
	if left := c.labelled("clm.cs.sap.com/inventory-owner-id", secrets); len(left) > 0 || c.recorded() {
		c.Errorf("the record is still there; chunks: %v", left)
	}
}

func (c *city) expectUnlocked() {
	c.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "clm." + c.release}}
	if err := c.client.Get(c.Context(), client.ObjectKeyFromObject(lease), lease); client.IgnoreNotFound(err) != nil || err == nil {
		c.Errorf("the lock was not given back: %v", err)
	}
}
