// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/pkg/status"
)

// Observation has the state of a dependent that decisions need.
type Observation struct {
	// UID of the object.
	UID types.UID
	// ResourceVersion at which the object was observed.
	ResourceVersion string
	// Generation is zero for kinds without generations.
	Generation int64
	// Owner is the value of the owner label; empty if there is none.
	Owner string
	// Record is the result of RecordLabel for the object.
	Record string
	// Deleting means that the object is being deleted.
	Deleting bool
	// DeletionFailed means that the API server has failed to delete the instances of a CustomResourceDefinition that is
	// being deleted; see status.DeletionFailure.
	DeletionFailed bool
	// Outcome is the status of a Job or Pod that had ended before its deletion was requested; empty for all others.
	Outcome status.Status
	// Finalizers of the object, separated by commas.
	Finalizers string
	// Fingerprint of the fields that we own; see fieldset.Fingerprint. Finalizers do not count for objects that run to
	// completion, because ours does not stay there.
	Fingerprint string
	// Status is the computed status.
	Status status.Status
	// Message explains the status.
	Message string
	// Reason is the status in the vocabulary of the judge; empty if it has none.
	Reason string
	// Grade is the grade of the object; empty if it is not known.
	Grade status.Grade
	// Deadline is when the status may change without an event; zero if it cannot.
	Deadline time.Time
	// PrunePolicy is the value of the annotation of that name; empty if there is none.
	PrunePolicy string
	// Suspended means that the suspended form of the object was applied last.
	Suspended bool
	// Rules identifies the rules by which the status was computed; see Judges.
	Rules string
	// Object is the object itself, without managedFields, if a Need demands that; else nil. It must not be changed.
	Object *unstructured.Unstructured
}

// Kept returns a copy of an object for Observation.Object.
func Kept(object *unstructured.Unstructured) *unstructured.Unstructured {
	kept := object.DeepCopy()
	kept.SetManagedFields(nil)
	return kept
}

// Baseline identifies the declared state of the object: while it is the same, no client has changed anything but the
// status or (for kinds with a generation) the metadata.
func (o Observation) Baseline() string {
	if o.Generation > 0 {
		return strconv.FormatInt(o.Generation, 10)
	}
	return "rv" + o.ResourceVersion
}

// OlderThan reports whether the observation is older than the resource version. Versions that cannot be compared count
// as not older.
func (o Observation) OlderThan(resourceVersion string) bool {
	return apiserver.Older(o.ResourceVersion, resourceVersion)
}

// Judges compute the statuses of dependents. An owner is identified by the value of its label.
type Judges interface {
	// Judge returns the status of a dependent, and the rules that hold for its owner.
	Judge(owner string, object *unstructured.Unstructured) (result status.Result, rules string)
	// Glance is Judge for events. If the rules are expensive, it returns rules of no owner, so that the owner
	// reads and judges the object. They differ for each resource version: each change of such an object is news,
	// because it may arrive while the owner judges the previous state.
	Glance(owner string, object *unstructured.Unstructured) (result status.Result, rules string)
	// JudgesMetadata reports whether the status of objects of this kind depends on their metadata only, unless a Need
	// says otherwise.
	JudgesMetadata(kind schema.GroupKind) bool
}

// finalizers is the path of metadata.finalizers.
var finalizers = []fieldpath.Path{fieldpath.MakePathOrDie("metadata", "finalizers")}

// Reader turns objects into observations.
type Reader struct {
	// OwnerLabel is the key of the label that marks dependents.
	OwnerLabel string
	// PrunePolicyAnnotation is the key of the annotation with the prune policy.
	PrunePolicyAnnotation string
	// DigestAnnotation is the key of the annotation with the digest of the manifest that was applied last, and
	// SuspendedDigest the prefix of the digests of suspended forms.
	DigestAnnotation, SuspendedDigest string
	// IgnoreFieldsAnnotation is the key of the annotation with the fields whose changes do not count.
	IgnoreFieldsAnnotation string
	// Manager is the field manager that writes dependents.
	Manager string
	// Judges compute the status.
	Judges Judges
	// Clock defaults to the real time.
	Clock clock.PassiveClock
}

// Read returns the observation of an object, which is not changed.
func (r *Reader) Read(object *unstructured.Unstructured) Observation {
	return r.read(object, object, r.Judges.Judge)
}

// Glance is Read for events: all owners wait for it, so no expensive rules are evaluated.
func (r *Reader) Glance(object *unstructured.Unstructured) Observation {
	return r.read(object, object, r.Judges.Glance)
}

// ReadMetadata returns the observation of an object from its metadata alone. It equals that of Read if no rule reads
// the content of the object.
func (r *Reader) ReadMetadata(gvk schema.GroupVersionKind, object *metav1.PartialObjectMetadata) Observation {
	judged := &unstructured.Unstructured{}
	judged.SetGroupVersionKind(gvk)
	judged.SetNamespace(object.Namespace)
	judged.SetName(object.Name)
	judged.SetGeneration(object.Generation)
	judged.SetAnnotations(object.Annotations)
	judged.SetFinalizers(object.Finalizers)
	judged.SetCreationTimestamp(object.CreationTimestamp)
	judged.SetDeletionTimestamp(object.DeletionTimestamp)
	return r.read(object, judged, r.Judges.Glance)
}

// judging is Judge or Glance of Judges.
type judging func(owner string, object *unstructured.Unstructured) (result status.Result, rules string)

func (r *Reader) read(object metav1.Object, judged *unstructured.Unstructured, judge judging) Observation {
	labels, annotations := object.GetLabels(), object.GetAnnotations()
	observation := Observation{
		UID:             object.GetUID(),
		ResourceVersion: object.GetResourceVersion(),
		Generation:      object.GetGeneration(),
		Owner:           labels[r.OwnerLabel],
		Record:          RecordLabel(labels),
		Deleting:        object.GetDeletionTimestamp() != nil,
		DeletionFailed:  status.DeletionFailure(judged) != "",
		Outcome:         r.outcome(labels[r.OwnerLabel], judged, judge),
		PrunePolicy:     annotations[r.PrunePolicyAnnotation],
		Suspended:       r.SuspendedDigest != "" && strings.HasPrefix(annotations[r.DigestAnnotation], r.SuspendedDigest),
		Finalizers:      strings.Join(object.GetFinalizers(), ","),
	}
	// A list that cannot be parsed is refused before the object is written.
	uncounted, _ := fieldset.ParsePaths(annotations[r.IgnoreFieldsAnnotation])
	if RunsToCompletion(judged.GroupVersionKind().GroupKind()) {
		uncounted = append(uncounted, finalizers...)
	}
	// If the field ownership cannot be read, only generation and resource version show changes.
	observation.Fingerprint, _ = fieldset.Fingerprint(object, r.Manager, uncounted...)
	var result status.Result
	result, observation.Rules = judge(observation.Owner, judged)
	observation.Status, observation.Message, observation.Reason, observation.Grade = result.Status, result.Message, result.Reason, result.Health()
	if result.Deadline > 0 {
		observation.Deadline = cmp.Or[clock.PassiveClock](r.Clock, clock.RealClock{}).Now().Add(result.Deadline)
	}
	return observation
}

// differs reports whether an owner may decide differently after the change.
func (o Observation) differs(other Observation) bool {
	isWhole := o.Object != nil || other.Object != nil
	if (isWhole || o.Generation == 0) && o.ResourceVersion != other.ResourceVersion {
		return true
	}
	o.Object, other.Object = nil, nil
	o.ResourceVersion, other.ResourceVersion = "", ""
	o.Deadline, other.Deadline = time.Time{}, time.Time{}
	return o != other
}

// RunsToCompletion reports whether objects of a kind do their work once, and then end.
func RunsToCompletion(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Group: "batch", Kind: "Job"} || kind == schema.GroupKind{Kind: "Pod"}
}

// outcome returns the status that a Job or Pod had when its deletion was requested, if it had ended by then. Later
// changes of its status are a consequence of the deletion.
func (r *Reader) outcome(owner string, object *unstructured.Unstructured, judge judging) status.Status {
	requested := object.GetDeletionTimestamp()
	if requested == nil || !RunsToCompletion(object.GroupVersionKind().GroupKind()) {
		return ""
	}
	grace := time.Duration(0)
	if seconds := object.GetDeletionGracePeriodSeconds(); seconds != nil {
		grace = time.Duration(*seconds) * time.Second
	}
	if ended := endOf(object); ended.IsZero() || ended.After(requested.Add(-grace)) {
		return ""
	}
	left := object.DeepCopy()
	left.SetDeletionTimestamp(nil)
	left.SetDeletionGracePeriodSeconds(nil)
	left.SetFinalizers(nil)
	if result, _ := judge(owner, left); result.Status == status.CurrentStatus || result.Status == status.FailedStatus {
		return result.Status
	}
	return ""
}

// endOf returns the time at which a Job or Pod ended; zero if it has not ended, or does not record the time.
func endOf(object *unstructured.Unstructured) time.Time {
	if object.GetKind() == "Job" {
		return latest(object, []string{"status", "conditions"}, func(condition map[string]any) (string, bool) {
			text, _, _ := unstructured.NestedString(condition, "lastTransitionTime")
			ends := condition["type"] == "Complete" || condition["type"] == "Failed"
			return text, ends && condition["status"] == "True"
		})
	}
	phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
	if phase != "Succeeded" && phase != "Failed" {
		return time.Time{}
	}
	return latest(object, []string{"status", "containerStatuses"}, func(container map[string]any) (string, bool) {
		text, found, _ := unstructured.NestedString(container, "state", "terminated", "finishedAt")
		return text, found
	})
}

// latest returns the latest time among the elements of a list; zero if no element has one.
func latest(object *unstructured.Unstructured, path []string, timeOf func(element map[string]any) (string, bool)) time.Time {
	var result time.Time
	elements, _, _ := unstructured.NestedSlice(object.Object, path...)
	for _, element := range elements {
		fields, _ := element.(map[string]any)
		if text, ok := timeOf(fields); ok {
			if parsed, err := time.Parse(time.RFC3339, text); err == nil && parsed.After(result) {
				result = parsed
			}
		}
	}
	return result
}
