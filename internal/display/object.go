// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Object identifies an object in a cluster. It is its form in output for programs.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Namespace is empty for cluster-scoped objects.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// UID is empty if the object does not exist, or if the UID does not matter.
	UID apitypes.UID `json:"uid,omitempty"`
}

// ObjectOf returns the identity of an object, without its UID.
func ObjectOf(object types.ObjectKey) Object {
	version, kind := object.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	return Object{APIVersion: version, Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName()}
}

// GetObjectKind returns the type; changes made through it do not affect the object.
func (o Object) GetObjectKind() schema.ObjectKind {
	return types.TypeKeyFromGroupVersionKind(schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)).GetObjectKind()
}

// GetNamespace returns the namespace; empty for cluster-scoped objects.
func (o Object) GetNamespace() string { return o.Namespace }

// GetName returns the name.
func (o Object) GetName() string { return o.Name }

// Key identifies the object independent of its API version.
func (o Object) Key() Key { return types.IDOf(o) }

// String returns the name of the object in messages, for example "Deployment default/web".
func (o Object) String() string { return o.Key().String() }

// isHarmless matches texts that need no quotes in a shell.
var isHarmless = regexp.MustCompile(`^[A-Za-z0-9._:/-]+$`)

// Argument returns the object as an argument of commands, for example "Deployment/default/web". It returns OBJECT if
// that is not safe in a shell, because the record may contain any text.
func (o Object) Argument() string {
	if argument := strings.Replace(o.String(), " ", "/", 1); isHarmless.MatchString(argument) {
		return argument
	}
	return "OBJECT"
}

// Compare sorts objects by kind, API version, namespace and name.
func (o Object) Compare(other Object) int {
	return cmp.Or(cmp.Compare(o.Kind, other.Kind), cmp.Compare(o.APIVersion, other.APIVersion),
		cmp.Compare(o.Namespace, other.Namespace), cmp.Compare(o.Name, other.Name))
}

// Key identifies an object independent of its API version.
type Key = types.ObjectID

// KeyOf returns the key of an object.
func KeyOf(object types.ObjectKey) Key { return types.IDOf(object) }

// Text returns the name of an object in messages.
func Text[O types.ObjectKey](object O) string { return KeyOf(object).String() }

// Map returns what the function returns for each element, for example [Text].
func Map[T, R any](list []T, of func(element T) R) []R {
	results := make([]R, len(list))
	for i, element := range list {
		results[i] = of(element)
	}
	return results
}

// IsJob reports whether an object is a Job, which may remove itself after it has finished.
func IsJob(object types.ObjectKey) bool {
	return KeyOf(object).GroupKind == schema.GroupKind{Group: "batch", Kind: "Job"}
}

// Namespace returns the namespace in which an object is applied with a release of the given namespace; empty if its
// type has no namespaces.
func Namespace(mapper meta.RESTMapper, object client.Object, namespace string) (string, error) {
	gvk := object.GetObjectKind().GroupVersionKind()
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case cluster.IsNoMatch(err):
		// The object was never applied, so the scope of its type is not known yet.
		return object.GetNamespace(), nil
	case err != nil:
		return "", fmt.Errorf("finding type %s: %w", gvk.GroupKind(), err)
	case mapping.Scope.Name() != meta.RESTScopeNameNamespace:
		return "", nil
	default:
		return cmp.Or(object.GetNamespace(), namespace), nil
	}
}

// Keys returns the keys of objects that are applied with a release of the given namespace.
func Keys(mapper meta.RESTMapper, list []client.Object, namespace string) (map[Key]bool, error) {
	keys := make(map[Key]bool, len(list))
	for _, object := range list {
		key := KeyOf(object)
		var err error
		if key.Namespace, err = Namespace(mapper, object, namespace); err != nil {
			return nil, err
		}
		keys[key] = true
	}
	return keys, nil
}

// StatusCompleted is the status of a dependent that has served its purpose and was removed. It has no live object.
const StatusCompleted = status.Status("Completed")

// StatusStolen is the status of a dependent that belongs to another owner, or to none.
const StatusStolen = status.Status("NotOwned")

// DigestTakenOver is the digest of completed items that another tool applied before a release was adopted from it. The
// engine treats them as completed, whatever their manifests are.
const DigestTakenOver = "taken-over"

// Node is an object in the cluster with the objects that it owns: a dependent, or an object below one, whose Wave,
// Phase, Verb, State and Since are empty.
type Node struct {
	// Dependent has the verdict of the analyzer as its status, or NotFound, Unknown if the object may not be read,
	// Completed, or NotOwned.
	Dependent

	// ApplyOrder is the apply order in the inventory; zero for objects that are not in it.
	ApplyOrder int `json:"applyOrder,omitempty"`
	// Created is the time of creation; zero if the object does not exist.
	Created time.Time `json:"created,omitzero"`
	// Missing means that the object should exist, but does not.
	Missing bool `json:"missing,omitempty"`
	// Why are the reasons why the object is not ready, the most specific first.
	Why []Reason `json:"why,omitempty"`
	// Children are the objects that name this one as their owner, sorted by kind and name. ReplicaSets of earlier
	// rollouts, which have no pods any more, are left out.
	Children []*Node `json:"children,omitempty"`

	// Item is the inventory item of a dependent; nil for other objects.
	Item *inventory.Item `json:"-"`
	// Live is the object as it was read; nil if it was not.
	Live *unstructured.Unstructured `json:"-"`
}

// IsReady reports whether the object is ready or completed.
func (n *Node) IsReady() bool {
	return n.Status == status.CurrentStatus || n.Status == StatusCompleted
}

// Annotation returns an annotation of the live object; empty if there is none.
func (n *Node) Annotation(key string) string {
	if n.Live == nil {
		return ""
	}
	return n.Live.GetAnnotations()[key]
}

// Walk visits the node and all nodes below it.
func (n *Node) Walk(visit func(node *Node)) {
	visit(n)
	for _, child := range n.Children {
		child.Walk(visit)
	}
}

// StatusText returns the status of the object, with the message that explains it.
func (n *Node) StatusText() string {
	if n.Message == "" {
		return n.Status.String()
	}
	return n.Status.String() + ": " + n.Message
}

// Explain returns the status text and the first reason, if there is one, on one line.
func (n *Node) Explain() string {
	text := n.StatusText()
	if at, reason := n.firstReason(); at == n {
		text += "; " + reason
	} else if at != nil {
		text += "; " + at.Kind + " " + at.Name + ": " + reason
	}
	return text
}

// firstReason returns the first reason of the object or of the objects that it owns, and the object of the reason; nil
// if there is none.
func (n *Node) firstReason() (*Node, string) {
	if len(n.Why) > 0 {
		return n, n.Why[0].Text
	}
	for _, child := range n.Children {
		if at, reason := child.firstReason(); at != nil {
			return at, reason
		}
	}
	return nil, ""
}

// Source says where a reason was found.
type Source string

const (
	// SourceContainer is the state of a container.
	SourceContainer Source = "container"
	// SourceLog is the last log line of a container.
	SourceLog Source = "log"
	// SourceCondition is a condition of the object.
	SourceCondition Source = "condition"
	// SourceEvent is an event about the object.
	SourceEvent Source = "event"
	// SourceStatus is any other information in the object itself.
	SourceStatus Source = "status"
)

// Reason is a reason why an object is not ready.
type Reason struct {
	Source Source `json:"source"`
	// Text is one line without control characters.
	Text string `json:"text"`
	// Since is when it began; zero if that is not known.
	Since time.Time `json:"since,omitzero"`
	// Count is how often it happened; zero for a state.
	Count int `json:"count,omitempty"`
	// Vague means that the text contains nothing but that the object is not ready.
	Vague bool `json:"-"`
}

// Describe returns the text of the reason with its count and its age.
func (r Reason) Describe(now time.Time) string {
	var details []string
	if r.Count > 1 {
		details = append(details, fmt.Sprintf("%d times", r.Count))
	}
	if !r.Since.IsZero() {
		details = append(details, "since "+Age(r.Since, now))
	}
	if len(details) == 0 {
		return r.Text
	}
	return r.Text + " (" + strings.Join(details, ", ") + ")"
}

// Note describes which objects are missing because the user is not allowed to read them.
type Note struct {
	// Verb of the missing RBAC rule, for example "list".
	Verb string `json:"verb"`
	// Group is the API group of the resource; empty for the core group.
	Group string `json:"group,omitempty"`
	// Resource is the plural name, followed by the subresource if there is one: "pods/log".
	Resource string `json:"resource"`
	// Namespace is empty for cluster-scoped resources.
	Namespace string `json:"namespace,omitempty"`
}

// String returns the note as a sentence.
func (n Note) String() string {
	resource := n.Resource
	if n.Group != "" {
		resource += "." + n.Group
	}
	if n.Namespace == "" {
		return fmt.Sprintf("not shown: you are not allowed to %s %s", n.Verb, resource)
	}
	return fmt.Sprintf("not shown: you are not allowed to %s %s in namespace %s", n.Verb, resource, n.Namespace)
}

// Dependent is one object of a release with its state.
type Dependent struct {
	Object `json:"object"`

	// Status is the last seen status; may be empty.
	Status status.Status `json:"status"`
	// Message explains the status: why the object is not ready, or is not gone. In an operation it is empty if the
	// object is ready or gone.
	Message string `json:"message,omitempty"`
	// Wave is the apply order, or the delete order if the release is being deleted.
	Wave int `json:"-"`
	// Phase as recorded; empty means that the object will be applied.
	Phase inventory.Phase `json:"-"`
	// Verb is what the operation has done to the object; empty if nothing yet.
	Verb inventory.Verb `json:"-"`
	// Unreported means that the object was written, and what was done to it is not known yet.
	Unreported bool `json:"-"`
	// Deed is shown to people instead of the verb, in the words of the plan; empty if the verb is sufficient.
	Deed string `json:"-"`
	// State summarizes the fields above.
	State State `json:"-"`
	// Since is when phase, status and verb became what they are; zero if that is not known.
	Since time.Time `json:"-"`
}

// Done returns what the operation has done to the object, for people; empty if nothing yet.
func (d Dependent) Done() string { return cmp.Or(d.Deed, strings.ToLower(string(d.Verb))) }

// State is the progress of a dependent.
type State string

const (
	// StatePending means that its turn has not come.
	StatePending State = "pending"
	// StateUnready means that it is not ready yet, or not gone yet, or was lost, perhaps to another owner.
	StateUnready State = "unready"
	// StateFailed means that it will not become ready by itself.
	StateFailed State = "failed"
	// StateReady means that it is in its desired state.
	StateReady State = "ready"
	// StateCompleted means that it has served its purpose and was removed.
	StateCompleted State = "completed"
	// StateStays means that it stays although the release is being deleted or its revision no longer has it.
	StateStays State = "stays"
	// StateGone means that it was no longer desired and is gone.
	StateGone State = "gone"
)

// IsProblem reports whether a dependent is not ready, or not gone, although its turn has come.
func (s State) IsProblem() bool { return s == StateUnready || s == StateFailed }

// IsDone reports whether nothing is left to be done about a dependent.
func (s State) IsDone() bool {
	return s == StateReady || s == StateCompleted || s == StateStays || s == StateGone
}

// StateInOperation returns the state of a dependent during an operation, from its phase, verb and message. failed means
// that the engine has reported a failure.
func StateInOperation(d Dependent, failed bool) State {
	switch {
	case failed:
		return StateFailed
	case d.Verb == inventory.VerbDeleted:
		return StateGone
	case d.Verb == inventory.VerbOrphaned:
		return StateStays
	}
	switch d.Phase {
	case inventory.PhaseFailed:
		return StateFailed
	case inventory.PhaseKept:
		return StateStays
	case inventory.PhaseCompleted:
		return StateCompleted
	case inventory.PhaseCreating, inventory.PhaseUpdating, inventory.PhaseDeleting, inventory.PhaseCompleting:
		return StateUnready
	case inventory.PhaseReady:
		if d.Message == "" {
			return StateReady
		}
	case inventory.PhaseScheduledForApplication, inventory.PhaseScheduledForDeletion, inventory.PhaseScheduledForCompletion, "":
		if d.Message == "" {
			return StatePending
		}
	}
	return StateUnready
}

// Label returns one word for the state of the dependent in an operation.
func (d Dependent) Label() string {
	switch {
	case d.State == StateFailed:
		return "failed"
	case d.State == StateUnready && (d.Phase == "" || d.Phase == inventory.PhaseReady || strings.HasPrefix(string(d.Phase), "Scheduled")):
		return "waiting"
	case d.State == StatePending:
		return "pending"
	case d.Verb == inventory.VerbDeleted || d.Verb == inventory.VerbOrphaned:
		return strings.ToLower(string(d.Verb))
	default:
		return strings.ToLower(string(d.Phase))
	}
}

// Names names the objects of one table or list. The zero value uses the names in messages. It is not safe for
// concurrent use.
type Names struct {
	namespace string
	room      int
	// groups are the API groups of each kind that is included; nil means full names.
	groups map[string]map[string]bool
}

// NewNames returns names that should fit in room cells. Without room, output is not to a terminal, and names are those
// in messages. Otherwise they are short: without the given namespace, and without the API group unless objects of the
// same kind and another group are included. clm accepts such names as arguments. A name that is too long gets a short
// kind, if there is one. It may still exceed the room.
func NewNames(room int, namespace string) *Names {
	if room <= 0 {
		return &Names{}
	}
	return &Names{namespace: namespace, room: room, groups: map[string]map[string]bool{}}
}

// Include adds an object to the table. All objects must be included before the first one is named.
func (n *Names) Include(object types.ObjectKey) {
	if n.groups == nil {
		return
	}
	gk := object.GetObjectKind().GroupVersionKind().GroupKind()
	if n.groups[gk.Kind] == nil {
		n.groups[gk.Kind] = map[string]bool{}
	}
	n.groups[gk.Kind][gk.Group] = true
}

// Of returns the name of an object.
func (n *Names) Of(object types.ObjectKey) string {
	switch {
	case n.groups == nil:
		return Text(object)
	case object.GetNamespace() == n.namespace:
		return n.fit(object, "")
	default:
		return n.fit(object, object.GetNamespace())
	}
}

// Below returns the name of an object that is listed below its owner in the same namespace.
func (n *Names) Below(object types.ObjectKey) string {
	if n.groups == nil {
		return object.GetObjectKind().GroupVersionKind().Kind + " " + object.GetName()
	}
	return n.fit(object, "")
}

// shortKinds are common names of long kinds.
var shortKinds = map[string]string{
	"CustomResourceDefinition": "CRD", "HorizontalPodAutoscaler": "HPA", "PersistentVolumeClaim": "PVC", "PodDisruptionBudget": "PDB",
}

// fit returns the name of an object, with a short kind if the name would be too long. The kind has its group only if
// the kind is ambiguous.
func (n *Names) fit(object types.ObjectKey, namespace string) string {
	gk := object.GetObjectKind().GroupVersionKind().GroupKind()
	kind, name := gk.Kind, " "+types.NameKeyToString(types.NameKeyFromNamespaceAndName(namespace, object.GetName()))
	if len(n.groups[gk.Kind]) > 1 {
		kind = gk.String()
	}
	if Width(kind+name) > n.room {
		kind = cmp.Or(shortKinds[kind], kind)
	}
	return kind + name
}

// Count returns a number with a unit whose plural ends with an s.
func Count(count int, unit string) string {
	if count == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", count, unit)
}

// Age returns how long ago something happened, as kubectl formats it; empty for the zero time. Times in the future,
// because of clock skew or a deletion that is due later, have the age zero.
func Age(since, now time.Time) string {
	if since.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(now.Sub(since), 0))
}

// Kept lists the objects that are kept although they are no longer in the manifests; empty if there are none.
func Kept(items []*inventory.Item) string {
	kept := slices.DeleteFunc(slices.Clone(items), func(item *inventory.Item) bool { return item.Phase != inventory.PhaseKept })
	return Enumerate(Map(kept, Text), maxKept)
}

// maxKept is the maximum number of objects that Kept names.
const maxKept = 10

// Enumerate lists texts in one line, up to a limit, and counts the others.
func Enumerate(texts []string, limit int) string {
	if more := len(texts) - limit; more > 0 {
		texts = append(texts[:limit:limit], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}

// MessageLines returns the errors in a message, one per line.
func MessageLines(message string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(message) {
			if line = Clean(line); line != "" && !yield(line) {
				return
			}
		}
	}
}

// OneText returns the errors in a message on one line.
func OneText(message string) string { return strings.Join(slices.Collect(MessageLines(message)), "; ") }

// KnownAge returns how long ago something happened, as kubectl formats it; "<unknown>" for the zero time.
func KnownAge(since, now time.Time) string { return cmp.Or(Age(since, now), "<unknown>") }

// NamesFor returns the names of objects in a list that is written to out. The namespace is that of the release.
func NamesFor[O types.ObjectKey](out io.Writer, namespace string, objects []O) *Names {
	names := NewNames(Limit(out), namespace)
	for _, object := range objects {
		names.Include(object)
	}
	return names
}

// WriteNames writes a list of names, one per line. On a terminal they are shortened in the middle if they are longer than
// the line.
func WriteNames[O types.ObjectKey](out io.Writer, names *Names, objects []O) {
	const indent = "  "
	limit := Limit(out)
	for _, object := range objects {
		name := Clean(names.Of(object))
		if limit > 0 {
			name = Elide(name, limit-len(indent))
		}
		fmt.Fprintln(out, indent+name)
	}
}
