// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

// Tree reads the dependents and the objects that they own. It fails if the cluster does not answer. Objects that the
// user may not read are omitted with a note, which is not an error.
func Tree(ctx context.Context, options Options) (*Report, error) {
	s := NewSurvey(Sink{})
	defer s.Close()
	s.once = true
	if err := s.Set(options); err != nil {
		return nil, err
	}
	return s.Tree(ctx)
}

// report builds the tree from what was read, and reads what is missing of the reasons.
func (s *Survey) report(ctx context.Context) (*Report, error) {
	s.deadline = time.Time{}
	nodes := s.grow()
	s.about = map[apitypes.UID][]Event{}
	all := s.takeOurEvents()
	for _, event := range all {
		if mayBeReason(event) {
			s.about[event.Object.UID] = append(s.about[event.Object.UID], event)
		}
	}
	if s.options.Reasons != NoReasons {
		if err := s.explain(ctx, nodes); err != nil {
			return nil, err
		}
	}
	report := &Report{Nodes: nodes, Notes: s.sortedNotes()}
	if s.options.Events {
		report.Events = byTime(all)
	}
	if !s.deadline.IsZero() {
		report.Deadline = max(time.Until(s.deadline), time.Millisecond)
	}
	return report, nil
}

// learn reads the definitions of the types of the dependents.
func (s *Survey) learn(ctx context.Context) error {
	if s.options.Definitions == nil {
		return nil
	}
	types := sets.New[resource]()
	for _, t := range s.targets {
		if t.resource.plural != "" {
			types.Insert(t.resource)
		}
	}
	return concurrent.Each(maxRequests, types.UnsortedList(), func(_ int, r resource) error {
		return s.options.Definitions.Recall(ctx, r.GroupVersionKind, r.plural)
	})
}

func (s *Survey) sortedNotes() []display.Note {
	s.mu.Lock()
	defer s.mu.Unlock()
	notes := s.notes.Clone()
	for _, t := range s.targets {
		if t.denied != nil {
			notes.Insert(*t.denied)
		}
	}
	return slices.SortedFunc(maps.Keys(notes), func(a, b display.Note) int { return cmp.Compare(a.String(), b.String()) })
}

// grow builds new nodes from the objects that were read.
func (s *Survey) grow() []*display.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members, s.unready, s.claims = make(map[apitypes.UID]bool, len(s.targets)), map[*display.Node]*object{}, nil
	for _, t := range s.targets {
		if o := s.objects[t.key]; o != nil {
			// A dependent has a node of its own, even if another dependent owns it.
			s.members[o.uid] = true
		}
	}
	return display.Map(s.targets, s.dependent)
}

// dependent returns the node of a recorded object.
func (s *Survey) dependent(t *target) *display.Node {
	item := t.item
	node := &display.Node{Dependent: display.Dependent{Object: display.ObjectOf(item)}}
	o := s.objects[t.key]
	switch {
	case item.Phase == reconciler.PhaseCompleted:
		node.Status, node.Message = display.StatusCompleted, completedMessage(item)
	case o != nil:
		node = s.node(o, false)
		if o.from == nil {
			s.lookAgain(t.asked.Add(relook))
		}
		if item.Phase == reconciler.PhaseKept {
			node.Message = "kept, although it is no longer in the manifests"
		}
	case t.denied != nil:
		node.Status, node.Message = status.UnknownStatus, fmt.Sprintf("you are not allowed to %s %s", t.denied.Verb, t.denied.Resource)
	default:
		node.Status, node.Message, node.Missing = status.NotFoundStatus, missingMessage(t), true
		if isUnserved(t) {
			s.lookAgain(s.resolved.Add(relook))
		}
	}
	node.Wave, node.Phase, node.ApplyOrder, node.Item = item.ApplyOrder, item.Phase, item.ApplyOrder, item
	return node
}

// completedMessage returns why a dependent is not expected to exist.
func completedMessage(item *reconciler.InventoryItem) string {
	if item.Digest == display.DigestTakenOver {
		// The object may still exist, or not; that does not matter.
		return "another tool has applied it before the release was adopted"
	}
	return "has served its purpose and was deleted"
}

// isUnserved reports whether the type of an object that may exist is not served.
func isUnserved(t *target) bool {
	return t.resource.plural == "" && t.item.Phase != reconciler.PhaseCompleted
}

func missingMessage(t *target) string {
	switch {
	case isUnserved(t):
		return "its type is not served"
	case t.item.Phase == reconciler.PhaseScheduledForApplication:
		return "not created yet"
	case t.item.Phase == reconciler.PhaseFailed:
		return "has failed, and was deleted"
	default:
		return "does not exist"
	}
}

// node returns a new node for an object, with its children.
func (s *Survey) node(o *object, isOwned bool) *display.Node {
	s.judge(o, isOwned)
	node := new(*o.judged)
	if !node.IsReady() {
		s.unready[node] = o
	}
	s.addChildren(node, o)
	return node
}

// judge judges an object again if its status may have changed.
func (s *Survey) judge(o *object, isOwned bool) {
	if now := time.Now(); o.judged == nil || o.isOwned != isOwned || !o.until.IsZero() && !now.Before(o.until) {
		// All releases have the same judge, so the owner does not matter.
		result, _ := s.options.Judges.Judge("", o.Unstructured)
		o.judged = &display.Node{Live: o.Unstructured, Created: o.GetCreationTimestamp().Time}
		o.judged.Object, o.judged.Status, o.judged.Message = objectOf(o.Unstructured), result.Status, oneLine(result.Message)
		o.isOwned, o.says, o.until = isOwned, nil, time.Time{}
		if result.Deadline > 0 {
			o.until = now.Add(result.Deadline)
		}
		if isOwned {
			judgePod(o.judged)
		}
	}
	s.lookAgain(o.until)
}

// judgePod refines the status of a pod that another object owns. For the analyzer, a failed pod is Current like a
// succeeded one, since its owner decides what to do. A pod may also have been ready only for a moment.
func judgePod(node *display.Node) {
	if node.Object.Key().GroupKind != pods.GroupKind() || node.Status == status.TerminatingStatus {
		return
	}
	switch phase, _, _ := unstructured.NestedString(node.Live.Object, "status", "phase"); corev1.PodPhase(phase) {
	case corev1.PodFailed:
		node.Status, node.Message = status.FailedStatus, "has failed"
	case corev1.PodSucceeded:
		node.Message = "completed"
	case corev1.PodRunning:
		if restarts := restartsOf(node.Live); restarts > 0 && node.IsReady() {
			node.Message += ", restarted " + times(restarts)
		}
	case corev1.PodPending, corev1.PodUnknown:
	}
}

// restartsOf returns the number of restarts of all containers of a pod.
func restartsOf(live *unstructured.Unstructured) int64 {
	containers, _, _ := unstructured.NestedSlice(live.Object, "status", "containerStatuses")
	var total int64
	for _, container := range containers {
		container, _ := container.(map[string]any)
		restarts, _, _ := unstructured.NestedInt64(container, "restartCount")
		total += restarts
	}
	return total
}

// podOf returns a pod that was read; nil if it is malformed.
func podOf(live *unstructured.Unstructured) *corev1.Pod {
	pod := &corev1.Pod{}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, pod) != nil {
		return nil
	}
	return pod
}

func times(count int64) string {
	if count == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", count)
}

// addChildren adds the objects that the object owns, unless they have a node already.
func (s *Survey) addChildren(node *display.Node, owner *object) {
	for _, child := range slices.Concat(slices.Collect(maps.Values(s.owned[owner.uid])), s.claimsOf(owner)) {
		if s.members[child.uid] || isEarlierRollout(child.Unstructured) {
			continue
		}
		s.members[child.uid] = true
		node.Children = append(node.Children, s.node(child, true))
	}
	slices.SortFunc(node.Children, func(a, b *display.Node) int { return a.Object.Compare(b.Object) })
}

// isEarlierRollout reports whether an object is a ReplicaSet that is kept only for a rollback.
func isEarlierRollout(live *unstructured.Unstructured) bool {
	if live.GroupVersionKind().GroupKind() != replicaSets.GroupKind() {
		return false
	}
	wanted, found, _ := unstructured.NestedInt64(live.Object, "spec", "replicas")
	present, _, _ := unstructured.NestedInt64(live.Object, "status", "replicas")
	return found && wanted == 0 && present == 0
}

// claimsOf returns the claims of a StatefulSet. Unless they are deleted along with it, only their names show which set
// they belong to: <template>-<set>-<ordinal>.
func (s *Survey) claimsOf(set *object) []*object {
	if set.key.GroupKind != statefulSets.GroupKind() {
		return nil
	}
	if s.claims == nil {
		s.claims = slices.DeleteFunc(slices.Collect(maps.Values(s.objects)), func(o *object) bool { return o.key.GroupKind != claims.GroupKind() })
	}
	templates, _, _ := unstructured.NestedSlice(set.Object, "spec", "volumeClaimTemplates")
	var found []*object
	for _, template := range templates {
		template, _ := template.(map[string]any)
		name, _, _ := unstructured.NestedString(template, "metadata", "name")
		for _, claim := range s.claims {
			ordinal, ok := strings.CutPrefix(claim.key.Name, name+"-"+set.key.Name+"-")
			if ok && claim.key.Namespace == set.key.Namespace && ordinal != "" && strings.Trim(ordinal, "0123456789") == "" {
				found = append(found, claim)
			}
		}
	}
	return found
}

// Options specify what to read.
type Options struct {
	// Client reads from the cluster. It must not answer from a cache. Required.
	Client cluster.Client
	// Items are the inventory of the release. Defaults to none.
	Items []*reconciler.InventoryItem
	// Judges compute the statuses, as in the engine. Required.
	Judges *judges.Judges
	// Definitions receive the types of the dependents before these are judged. Defaults to none.
	Definitions *judges.Definitions
	// Selector selects the dependents by their labels, so that other objects need not be read. Dependents that have
	// lost their labels are still found, by one request each. Defaults to everything.
	Selector labels.Selector
	// Reasons selects the content of Node.Why. Defaults to all.
	Reasons Reasons
	// Events keeps all events about the dependents and the objects that they own, for Report.Events. Defaults to keeping
	// only those that may be reasons.
	Events bool
}

// Reasons selects the reasons to read for dependents that are not ready.
type Reasons int

const (
	// AllReasons reads the reasons of all dependents, including the last log lines of containers.
	AllReasons Reasons = iota
	// MainReasons reads the reasons of up to MaxExplained dependents, without logs.
	MainReasons
	// NoReasons reads no reasons, which saves the requests for events and logs.
	NoReasons
)

// MaxExplained is the maximum number of dependents for which MainReasons reads reasons: most wait for the same one.
const MaxExplained = 20

// Report is the result of Tree.
type Report struct {
	// Nodes are the dependents, sorted by apply order, kind, namespace and name.
	Nodes []*display.Node `json:"dependents"`
	// Notes describe what is missing because the user may not read it. They are sorted.
	Notes []display.Note `json:"notes,omitempty"`
	// Events are sorted by time, the latest last; none without Options.Events.
	Events []Event `json:"-"`
	// Deadline is the time after which a status may change although no object does; zero if there is none.
	Deadline time.Duration `json:"-"`
}

// objectOf returns the identity of an object that was read.
func objectOf(live *unstructured.Unstructured) display.Object {
	object := display.ObjectOf(live)
	object.UID = live.GetUID()
	return object
}

// resource is a type of objects, with its name in API paths and RBAC rules.
type resource struct {
	schema.GroupVersionKind
	plural string
}

// The types of objects in workloads. ControllerRevisions and EndpointSlices have owners, too, but no information about
// their state.
var (
	deployments  = resource{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, "deployments"}
	statefulSets = resource{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}, "statefulsets"}
	daemonSets   = resource{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DaemonSet"}, "daemonsets"}
	replicaSets  = resource{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, "replicasets"}
	cronJobs     = resource{schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"}, "cronjobs"}
	jobs         = resource{schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, "jobs"}
	pods         = resource{schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, "pods"}
	claims       = resource{schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}, "persistentvolumeclaims"}
	events       = resource{schema.GroupVersionKind{Version: "v1", Kind: "Event"}, "events"}
)

// workloads are the types of objects that an operator may create for a custom resource.
var workloads = []resource{deployments, statefulSets, daemonSets, replicaSets, cronJobs, jobs, pods, claims}

// ownedTypes maps each type to the types of objects that it may own, at any depth.
var ownedTypes = map[schema.GroupKind][]resource{
	deployments.GroupKind():  {replicaSets, pods, claims},
	statefulSets.GroupKind(): {pods, claims},
	daemonSets.GroupKind():   {pods, claims},
	replicaSets.GroupKind():  {pods, claims},
	cronJobs.GroupKind():     {jobs, pods, claims},
	jobs.GroupKind():         {pods, claims},
	pods.GroupKind():         {claims},

	{Kind: "ReplicationController"}: {pods, claims},
}

// definitions is the type of objects whose status message contains all reasons why they are not ready: they own
// nothing, and Kubernetes reports no events about them.
var definitions = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// maxRequests is the maximum number of concurrent requests.
const maxRequests = 8
