// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Options say what to look at.
type Options struct {
	// Client reads from the cluster. It must not answer from a cache. Required.
	Client cluster.Client
	// Items are the inventory of the release. Defaults to none.
	Items []*reconciler.InventoryItem
	// Analyzer is that of the engine. Defaults to one that knows no hints.
	Analyzer *status.Analyzer
	// Selector fits the labels of the dependents, so that no others have to be read. Those that have lost their labels are found
	// nevertheless, at the price of a request each. Defaults to everything.
	Selector labels.Selector
	// SkipReasons leaves Node.Why empty, and saves the requests for events and logs.
	SkipReasons bool
}

// complete returns the options with their defaults.
func (o Options) complete() Options {
	if o.Analyzer == nil {
		o.Analyzer = status.NewAnalyzer("", status.Options{})
	}
	if o.Selector == nil {
		o.Selector = labels.Everything()
	}
	return o
}

// Report is what Tree has found.
type Report struct {
	// Nodes are the dependents, sorted by apply order, kind, namespace and name.
	Nodes []*Node `json:"dependents"`
	// Notes say what is missing because the user may not read it. Sorted.
	Notes []Note `json:"notes,omitempty"`
	// Deadline is the time after which a verdict may change although no object does; zero if there is none.
	Deadline time.Duration `json:"-"`
}

// Completed is the status of a dependent that has served its purpose and was removed. It has no live object.
const Completed = status.Status("Completed")

// Stolen is the status of a dependent that belongs to somebody else, or to nobody. Tree does not say so: whoever knows about owners does.
const Stolen = status.Status("Stolen")

// Node is an object and what it owns.
type Node struct {
	// Object is what this is about.
	Object Object `json:"object"`
	// Status is the verdict of the analyzer, NotFound, Unknown if the object may not be read, or Completed.
	Status status.Status `json:"status"`
	// Message explains the status in plain words.
	Message string `json:"message,omitempty"`
	// ApplyOrder is that of the inventory; zero for what is not recorded there.
	ApplyOrder int `json:"applyOrder,omitempty"`
	// Created is the time of creation; zero if the object is not there.
	Created time.Time `json:"created,omitzero"`
	// Missing is true if the object should be there and is not.
	Missing bool `json:"missing,omitempty"`
	// Why says what keeps the object from being ready, the most specific reason first.
	Why []Reason `json:"why,omitempty"`
	// Children are the objects that name this one as their owner, sorted by kind and name. ReplicaSets of earlier rollouts, which
	// have no pods any more, are left out.
	Children []*Node `json:"children,omitempty"`

	live *unstructured.Unstructured
}

// isReady tells whether there is nothing to be explained.
func (n *Node) isReady() bool {
	return n.Status == status.CurrentStatus || n.Status == Completed
}

// Annotation returns an annotation of the live object; empty if there is none.
func (n *Node) Annotation(key string) string {
	if n.live == nil {
		return ""
	}
	return n.live.GetAnnotations()[key]
}

// UID returns the UID of the object; empty if it is not there.
func (n *Node) UID() apitypes.UID {
	if n.live == nil {
		return ""
	}
	return n.live.GetUID()
}

// Label returns a label of the object; empty if it is not there.
func (n *Node) Label(key string) string {
	if n.live == nil {
		return ""
	}
	return n.live.GetLabels()[key]
}

// Exists tells whether the object was found.
func (n *Node) Exists() bool { return n.live != nil }

// walk visits the node and all below it.
func (n *Node) walk(visit func(node *Node)) {
	visit(n)
	for _, child := range n.Children {
		child.walk(visit)
	}
}

// Object identifies an object in a cluster.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Namespace is empty for cluster-scoped objects.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// UID is empty if the object is not there.
	UID apitypes.UID `json:"uid,omitempty"`
}

// String names the object as messages do, for example "Deployment default/web".
func (o Object) String() string {
	return types.ObjectText(o.key().GroupKind, o.Namespace, o.Name)
}

// key identifies an object whatever its version is.
type key struct {
	schema.GroupKind
	namespace, name string
}

func (o Object) key() key {
	return key{GroupKind: schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).GroupKind(), namespace: o.Namespace, name: o.Name}
}

func objectOf(live *unstructured.Unstructured) Object {
	return Object{APIVersion: live.GetAPIVersion(), Kind: live.GetKind(), Namespace: live.GetNamespace(), Name: live.GetName(), UID: live.GetUID()}
}

// Source says where a reason was found.
type Source string

const (
	// SourceContainer is the state of a container.
	SourceContainer Source = "container"
	// SourceLog is the last line that a container has written.
	SourceLog Source = "log"
	// SourceCondition is a condition of the object.
	SourceCondition Source = "condition"
	// SourceEvent is an event about the object.
	SourceEvent Source = "event"
	// SourceStatus is anything else that the object itself says.
	SourceStatus Source = "status"
)

// Reason says why an object is not ready.
type Reason struct {
	Source Source `json:"source"`
	// Text is one line without control characters.
	Text string `json:"text"`
	// Since is when it began; zero if that is not known.
	Since time.Time `json:"since,omitzero"`
	// Count is how often it happened; zero for what is a state.
	Count int `json:"count,omitempty"`
}

// Note says what the user is not allowed to do.
type Note struct {
	// Verb is that of the rule which is missing, for example "list".
	Verb string `json:"verb"`
	// Group is the API group of the resource; empty for the core group.
	Group string `json:"group,omitempty"`
	// Resource is the plural name, followed by the subresource if there is one: "pods/log".
	Resource string `json:"resource"`
	// Namespace is empty for cluster-scoped resources.
	Namespace string `json:"namespace,omitempty"`
}

// String says it in plain words.
func (n Note) String() string {
	resource := n.Resource
	if n.Group != "" {
		resource += "." + n.Group
	}
	if n.Namespace == "" {
		return fmt.Sprintf("not shown: you may not %s %s", n.Verb, resource)
	}
	return fmt.Sprintf("not shown: you may not %s %s in namespace %s", n.Verb, resource, n.Namespace)
}
