// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package objectset

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/objectset/v1alpha1"
)

// contentOf returns phases that are told apart by a letter.
func contentOf(letter string) v1alpha1.SetContent {
	manifest := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"content":%q}}`, letter)
	return v1alpha1.SetContent{Phases: []v1alpha1.Phase{{Name: "only", Objects: []v1alpha1.Object{{Object: runtime.RawExtension{Raw: []byte(manifest)}}}}}}
}

// set returns a set of the deployment web from words: its name, its revision, its content, then any of
//
//	paused, archived        its lifecycle state; active otherwise
//	noticed                 the condition Paused or Archived is True
//	available, succeeded    these conditions are True
//	applied=, progressed=   numbers of objects, of 3
//	deleting, foreign, orphan
func set(t *testing.T, description string) v1alpha1.Set {
	t.Helper()
	words := strings.Fields(description)
	result := &v1alpha1.ObjectSet{ObjectMeta: metav1.ObjectMeta{Name: words[0], UID: apitypes.UID(words[0]), Generation: 1, Labels: map[string]string{v1alpha1.LabelRevisionsOf: "web"}}}
	result.OwnerReferences = []metav1.OwnerReference{{UID: "web", Controller: new(true)}}
	if _, err := fmt.Sscan(words[1], &result.Spec.Revision); err != nil {
		t.Fatal(err)
	}
	result.Spec.SetContent, result.Spec.LifecycleState, result.Spec.ProgressDeadlineSeconds = contentOf(words[2]), v1alpha1.LifecycleStateActive, 600
	result.Status.ObservedGeneration = 1
	phase := v1alpha1.PhaseStatus{Name: "only", Objects: 3}
	now := metav1.NewTime(time.Unix(0, 0))
	holds := func(name component.ConditionType) {
		result.Status.SetCondition(name, component.ConditionTrue, string(name), string(name), now)
	}
	for _, word := range words[3:] {
		switch key, value, _ := strings.Cut(word, "="); key {
		case "paused":
			result.Spec.LifecycleState = v1alpha1.LifecycleStatePaused
		case "archived":
			result.Spec.LifecycleState = v1alpha1.LifecycleStateArchived
		case "noticed":
			holds(component.ConditionType(result.Spec.LifecycleState))
		case "available":
			holds(v1alpha1.ConditionTypeAvailable)
		case "succeeded":
			holds(v1alpha1.ConditionTypeSucceeded)
		case "applied":
			phase.Applied = int32(value[0] - '0')
		case "progressed":
			phase.Progressed = int32(value[0] - '0')
		case "digest":
			result.Annotations = map[string]string{v1alpha1.AnnotationTemplateDigest: v1alpha1.TemplateDigest(deployment(t, value))}
		case "unseen":
			result.Generation = 2
		case "deleting":
			result.DeletionTimestamp = &now
		case "foreign":
			result.OwnerReferences[0].UID = "other"
		case "orphan":
			result.OwnerReferences = nil
		default:
			t.Fatalf("unexpected word %q", word)
		}
	}
	result.Status.Phases = []v1alpha1.PhaseStatus{phase}
	return result
}

// deployment returns the deployment web from words: the content of its template, then any of paused, deleting,
// orphaning, limit=, rollback=, selector=.
func deployment(t *testing.T, description string) *v1alpha1.ObjectDeployment {
	t.Helper()
	words := strings.Fields(description)
	result := &v1alpha1.ObjectDeployment{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "web", Generation: 7}}
	result.Spec.Template.Spec.SetContent, result.Spec.ProgressDeadlineSeconds = contentOf(words[0]), 600
	for _, word := range words[1:] {
		switch key, value, _ := strings.Cut(word, "="); key {
		case "paused":
			result.Spec.Paused = true
		case "deleting":
			result.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
		case "orphaning":
			result.Finalizers = []string{metav1.FinalizerOrphanDependents}
		case "selector":
			result.Spec.Template.Metadata.Labels = map[string]string{"team": "shop"}
			result.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": value}}
		case "limit":
			result.Spec.RevisionHistoryLimit = new(int32(value[0] - '0'))
		case "rollback":
			result.Spec.RollbackTo = &v1alpha1.RollbackTarget{Revision: int64(value[0] - '0')}
		case "seen":
			result.Status.Revision, _ = strconv.ParseInt(value, 10, 64)
		case "deadline":
			result.Spec.ProgressDeadlineSeconds = int32(value[0] - '0')
		case "cause":
			result.Annotations = map[string]string{v1alpha1.AnnotationChangeCause: value}
		default:
			t.Fatalf("unexpected word %q", word)
		}
	}
	return result
}

// short returns a decision in words.
func short(decision deploymentDecision, refusal error) string {
	var words []string
	if decision.RollBackTo != nil {
		words = append(words, "roll back to "+decision.RollBackTo.GetName())
	}
	for _, set := range decision.Adopt {
		words = append(words, "adopt "+set.GetName())
	}
	for _, set := range decision.Release {
		words = append(words, "release "+set.GetName())
	}
	for _, change := range decision.Change {
		text := fmt.Sprintf("%s %s", change.Set.GetName(), change.Want.Lifecycle)
		if change.Want.Deadline != change.Set.GetSetSpec().ProgressDeadlineSeconds {
			text += fmt.Sprintf(" deadline=%d", change.Want.Deadline)
		}
		if change.Want.ChangeCause != "" {
			text += " cause=" + change.Want.ChangeCause
		}
		words = append(words, text)
	}
	if decision.Create != nil {
		words = append(words, "create "+decision.Create.GetName())
	}
	for _, set := range decision.Delete {
		words = append(words, "delete "+set.GetName())
	}
	if decision.Done {
		words = append(words, "done")
	}
	if refusal != nil {
		words = append(words, refusal.Error())
	}
	return strings.Join(words, "; ")
}

func TestDecide(t *testing.T) {
	t.Parallel()
	const good, full, half = " available succeeded applied=3", " applied=3", " applied=1"
	for _, tc := range []struct {
		reason     string
		deployment string
		sets       []string
		want       string
	}{
		{"the first set", "a", nil, "create web-1"},
		{"nothing to do", "a", []string{"web-1 1 a" + good}, ""},
		{"a change", "b", []string{"web-1 1 a" + good}, "create web-2"},
		{"a change before the set was rolled out", "b", []string{"web-1 1 a" + half}, "web-1 Paused; create web-2"},
		{"a change before the set was looked at", "b", []string{"web-1 1 a"}, "web-1 Paused; create web-2"},
		{"a change back, while the earlier set is active", "a", []string{"web-1 1 a" + good, "web-2 2 b" + half}, "web-2 Paused; create web-3"},
		{"the newest is archived by somebody", "a", []string{"web-1 1 a archived noticed"}, "create web-2"},
		{"the newest is being deleted", "a", []string{"web-1 1 a deleting" + good}, "create web-2"},
		{"sets were deleted", "a seen=7", nil, "create web-8"},
		{"a name is taken", "a", []string{"web-1 0 a foreign"}, "create web-2"},
		{"a revision of the series is taken", "b", []string{"web-1 1 a" + good, "other 5 a foreign"}, "create web-6"},
		{"the set with the highest revision is gone", "b seen=9007199254740992", []string{"web-1 1 a" + good}, "create web-2"},
		{"the highest revision is taken", "b", []string{"web-1 9007199254740992 a" + good}, "no set is created, because its revision would have to be higher than that of set web-1, 9007199254740992; must be at most 9007199254740992"},
		{"an impossible revision", "b", []string{"web-1 9223372036854775807 a" + half}, "web-1 Paused; no set is created, because its revision would have to be higher than that of set web-1, 9223372036854775807; must be at most 9007199254740992"},
		{"an impossible revision of another owner", "b", []string{"web-1 1 a" + good, "other 9223372036854775807 a foreign"}, "no set is created, because its revision would have to be higher than that of set other, 9223372036854775807; must be at most 9007199254740992"},
		{"an impossible revision without a controller", "b", []string{"web-1 1 a" + good, "other 9223372036854775807 a orphan"}, "no set is created, because its revision would have to be higher than that of set other, 9223372036854775807; must be at most 9007199254740992"},
		{"a paused newest set", "a", []string{"web-1 1 a paused noticed" + good}, "web-1 Active"},
		{"another deadline", "a deadline=9", []string{"web-1 1 a" + good}, "web-1 Active deadline=9"},
		{"a change cause", "a cause=why", []string{"web-1 1 a" + good}, "web-1 Active cause=why"},
		{"settings of an earlier set stay", "b deadline=9 cause=why", []string{"web-1 1 a" + full, "web-2 2 b" + half}, "web-2 Active deadline=9 cause=why"},

		{"not available yet", "b", []string{"web-1 1 a" + good, "web-2 2 b" + full}, ""},
		{"available, not succeeded", "b", []string{"web-1 1 a" + good, "web-2 2 b available" + full}, ""},
		{"succeeded", "b", []string{"web-1 1 a" + good, "web-2 2 b" + good}, "web-1 Archived"},
		{"succeeded once, not available now", "b", []string{"web-1 1 a" + good, "web-2 2 b succeeded" + full}, ""},
		{"available before a change of its settings", "b", []string{"web-1 1 a" + good, "web-2 2 b unseen" + good}, "web-1 Archived"},
		{"changed by the API server", "b", []string{"web-1 1 x digest=b" + good}, ""},
		{"two of one revision", "a", []string{"web-1 1 a" + good, "copy 1 a" + half}, "copy Paused; create web-2"},
		{
			"succeeded, with broken ones before", "d",
			[]string{"web-1 1 a" + good, "web-2 2 b paused noticed" + half, "web-3 3 c" + full, "web-4 4 d" + good},
			"web-3 Archived; web-2 Archived; web-1 Archived",
		},
		{"everything handed over", "b", []string{"web-1 1 a succeeded progressed=3", "web-2 2 b" + full}, "web-1 Paused"},
		{"everything handed over, paused, not noticed", "b", []string{"web-1 1 a paused succeeded progressed=3", "web-2 2 b" + full}, ""},
		{"everything handed over, paused, noticed", "b", []string{"web-1 1 a paused noticed succeeded progressed=3", "web-2 2 b" + full}, "web-1 Archived"},
		{"has something again", "b", []string{"web-1 1 a paused noticed succeeded applied=1 progressed=2", "web-2 2 b" + full}, "web-1 Active"},
		{"unfinished with something left", "c", []string{"web-1 1 a" + good, "web-2 2 b paused noticed applied=1 progressed=1", "web-3 3 c" + half}, ""},
		{"reactivated by somebody", "b", []string{"web-1 1 a" + good, "web-2 2 b" + good}, "web-1 Archived"},
		{"archived by somebody", "b", []string{"web-1 1 a archived noticed", "web-2 2 b" + half}, ""},

		{"below the history limit", "c limit=2", []string{"web-1 1 a archived noticed", "web-2 2 b archived noticed", "web-3 3 c" + good}, ""},
		{"above the history limit", "c limit=1", []string{"web-1 1 a archived noticed", "web-2 2 b archived noticed", "web-3 3 c" + good}, "delete web-1"},
		{"no history", "c limit=0", []string{"web-1 1 a archived noticed", "web-2 2 b archived noticed", "web-3 3 c" + half}, "delete web-2; delete web-1"},
		{"what still has objects is not deleted", "c limit=0", []string{"web-1 1 a archived", "web-2 2 b archived noticed deleting", "web-3 3 c" + good}, ""},

		{"sets without a controller", "b", []string{"web-1 1 a orphan", "web-2 2 b" + good}, "adopt web-1"},
		{"sets without a controller that are being deleted", "b", []string{"web-1 1 a orphan deleting", "web-2 2 b" + good}, ""},

		{"paused", "b paused", []string{"web-1 1 a" + good}, "web-1 Paused"},
		{"paused from the start", "a paused", nil, ""},
		{"paused with a history", "c paused limit=0 rollback=1", []string{"web-1 1 a archived noticed", "web-2 2 b orphan", "web-3 3 c paused noticed"}, ""},

		{"the selector matches", "b selector=shop", []string{"web-1 1 a" + good}, "create web-2"},
		{"the selector matches other labels", "b selector=bank", []string{"web-1 1 a" + good}, `spec.selector: invalid value "team=bank"; must match spec.template.metadata.labels, which are "team=shop"`},
		{"back to a revision", "b rollback=1", []string{"web-1 1 a archived noticed", "web-2 2 b" + good}, "roll back to web-1"},
		{"back to the current revision", "b rollback=2", []string{"web-1 1 a archived noticed", "web-2 2 b" + good}, "roll back to web-2"},
		{"back to the last one that succeeded", "c rollback=0", []string{"web-1 1 a archived noticed succeeded", "web-2 2 b archived noticed", "web-3 3 c" + good}, "roll back to web-1"},
		{"back before a set is made", "b rollback=0", []string{"web-1 1 a" + good}, "roll back to web-1"},
		{"back to one without a revision", "b rollback=0", []string{"hand 0 a" + good, "web-2 2 b" + good}, "roll back to hand"},
		{"back to nothing, while a set is due", "c rollback=9", []string{"web-2 2 b" + good}, "spec.rollbackTo.revision: invalid value 9; must be one of: 2"},
		{"back to nothing", "b rollback=9", []string{"web-1 1 a archived noticed", "web-2 2 b" + good}, "spec.rollbackTo.revision: invalid value 9; must be one of: 2, 1"},
		{"none has succeeded", "b rollback=0", []string{"web-1 1 a" + full, "web-2 2 b" + good}, "web-1 Archived; spec.rollbackTo: no set before the current one has succeeded; spec.rollbackTo.revision must be one of: 2, 1"},

		{"deletion", "b deleting", []string{"web-1 1 a" + good, "web-2 2 b" + half, "web-3 3 c archived noticed"}, "web-2 Paused; delete web-1; delete web-3"},
		{"deletion goes on", "b deleting", []string{"web-1 1 a deleting" + good, "web-2 2 b paused noticed" + half}, ""},
		{"deletion of the last", "b deleting", []string{"web-2 2 b paused noticed" + half}, "delete web-2"},
		{"deletion ends", "b deleting", []string{"other 1 a foreign", "orphan 2 a orphan"}, "done"},
		{"deletion that orphans", "b deleting orphaning", []string{"web-1 1 a" + good, "other 1 a foreign"}, "release web-1"},
	} {
		sets := make([]v1alpha1.Set, len(tc.sets))
		for i, description := range tc.sets {
			sets[i] = set(t, description)
		}
		slices.Reverse(sets) // the order of the list does not matter
		if got := short(revisionsOf(deployment(t, tc.deployment), sets).Decide(true)); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
		}
	}
}

// TestCreatedSet has what the template and the deployment say.
func TestCreatedSet(t *testing.T) {
	t.Parallel()
	d := deployment(t, "b deadline=9 cause=why")
	d.Namespace, d.Spec.Template.Spec.ServiceAccountName = "shop", "limited"
	d.Spec.Template.Metadata = v1alpha1.TemplateMetadata{Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"note": "b"}}
	decision, err := revisionsOf(d, []v1alpha1.Set{set(t, "web-1 1 a")}).Decide(true)
	created, ok := decision.Create.(*v1alpha1.ObjectSet)
	if err != nil || !ok {
		t.Fatalf("unexpected decision %+v, %v", decision, err)
	}
	spec := created.Spec
	if created.Namespace != "shop" || spec.ServiceAccountName != "limited" || spec.Revision != 2 || spec.LifecycleState != v1alpha1.LifecycleStateActive || spec.ProgressDeadlineSeconds != 9 || !d.Makes(created) {
		t.Errorf("unexpected set %+v", created)
	}
	if created.Annotations[v1alpha1.AnnotationTemplateDigest] != v1alpha1.TemplateDigest(d) {
		t.Errorf("unexpected digest in %v", created.Annotations)
	}
	delete(created.Annotations, v1alpha1.AnnotationTemplateDigest)
	if got := fmt.Sprint(created.Labels, created.Annotations); got != "map[core.component-operator.dev/revisions-of:web team:a] map[kubernetes.io/change-cause:why note:b]" {
		t.Errorf("unexpected metadata %s", got)
	}
	if len(d.Spec.Template.Metadata.Labels) != 1 || len(d.Spec.Template.Metadata.Annotations) != 1 {
		t.Errorf("the template has changed: %+v", d.Spec.Template.Metadata)
	}
	created.Spec.ServiceAccountName = "other"
	if d.Makes(created) {
		t.Error("another service account is another set")
	}
	// How a manifest is written does not matter.
	created.Spec.ServiceAccountName = "limited"
	created.Spec.Phases[0].Objects[0].Object.Raw = []byte(`{"data":{"content":"b"}, "metadata":{"name":"a"},"kind":"ConfigMap","apiVersion":"v1"}`)
	if !d.Makes(created) {
		t.Error("the order of keys is taken for a change")
	}
}

// TestReport has the conditions: Available, Progressing, Ready and Stalled.
func TestReport(t *testing.T) {
	t.Parallel()
	const good, full = " available succeeded applied=3", " applied=3"
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ObjectSet"}, "web-1", nil)
	for _, tc := range []struct {
		reason     string
		deployment string
		sets       []string
		failure    error
		want       string
	}{
		{"no set", "a", nil, nil, "False/ObjectSetUnavailable True/RollingOut False/RollingOut False/RollingOut"},
		{"no set, and none is accepted", "a", nil, invalid, "False/ObjectSetUnavailable False/WriteRefused False/WriteRefused True/WriteRefused"},
		{"no set, and the server fails", "a", nil, errors.New("down"), "False/ObjectSetUnavailable True/Retrying False/Retrying False/Retrying"},
		{"rolling out", "a", []string{"web-1 1 a"}, nil, "False/ObjectSetUnavailable True/RollingOut False/RollingOut False/RollingOut"},
		{"available", "a", []string{"web-1 1 a available" + full}, nil, "True/Available True/PendingSuccess False/PendingSuccess False/PendingSuccess"},
		{"idle", "a", []string{"web-1 1 a" + good}, nil, "True/Available False/Idle True/Available False/Idle"},
		{"available before a change of its settings", "a", []string{"web-1 1 a unseen" + good}, nil, "True/Available False/Idle True/Available False/Idle"},
		{"a new set is due", "b", []string{"web-1 1 a" + good}, nil, "True/PreviousRevisionAvailable True/RollingOut False/RollingOut False/RollingOut"},
		{"an earlier one is available", "b", []string{"web-1 1 a" + good, "web-2 2 b" + full}, nil, "True/PreviousRevisionAvailable True/RollingOut False/RollingOut False/RollingOut"},
		{"an archived one is not", "b", []string{"web-1 1 a archived" + good, "web-2 2 b" + full}, nil, "False/ObjectSetUnavailable True/RollingOut False/RollingOut False/RollingOut"},
		{"archiving", "b", []string{"web-1 1 a archived", "web-2 2 b" + good}, nil, "True/Available True/Archiving False/Archiving False/Archiving"},
		{"archived", "b", []string{"web-1 1 a archived noticed", "web-2 2 b" + good}, nil, "True/Available False/Idle True/Available False/Idle"},
		{"pausing", "a paused", []string{"web-1 1 a" + good}, nil, "True/Available False/Paused False/Paused False/Paused True/Paused"},
		{"another selector", "b selector=bank", []string{"web-1 1 a" + good}, nil, "True/PreviousRevisionAvailable False/PreflightError False/PreflightError True/PreflightError"},
		{"a refused rollback", "a rollback=9", []string{"web-1 1 a" + good}, nil, "True/Available False/RollbackRefused False/RollbackRefused True/RollbackRefused"},
		{"no revision is left", "b", []string{"web-1 9223372036854775807 a" + good}, nil, "True/PreviousRevisionAvailable False/PreflightError False/PreflightError True/PreflightError"},
		{"deleting", "a deleting", []string{"web-1 1 a deleting" + good}, nil, "True/PreviousRevisionAvailable True/Deleting False/Deleting False/Deleting"},
	} {
		sets := make([]v1alpha1.Set, len(tc.sets))
		for i, description := range tc.sets {
			sets[i] = set(t, description)
		}
		found := revisionsOf(deployment(t, tc.deployment), sets)
		_, refusal := found.Decide(true)
		status := found.Report(refusal, tc.failure)
		var got []string
		for _, condition := range status.Conditions {
			got = append(got, string(condition.Status)+"/"+condition.Reason)
			if condition.Message == "" || condition.ObservedGeneration != 7 {
				t.Errorf("%s: unexpected condition %+v", tc.reason, condition)
			}
		}
		if strings.Join(got, " ") != tc.want || status.ObservedGeneration != 7 {
			t.Errorf("%s: got %s, want %s", tc.reason, strings.Join(got, " "), tc.want)
		}
	}
}

// TestStalledSets: for some reasons, a set does not go on by itself, and neither does its deployment.
func TestStalledSets(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		v1alpha1.ReasonProgressDeadlineExceeded: "False/ProgressDeadlineExceeded",
		v1alpha1.ReasonCollisionDetected:        "False/CollisionDetected",
		v1alpha1.ReasonPreflightError:           "False/PreflightError",
		v1alpha1.ReasonPaused:                   "True/RollingOut",
	} {
		stuck := set(t, "web-1 1 a")
		stuck.GetStatus().SetCondition(v1alpha1.ConditionTypeProgressing, component.ConditionFalse, reason, "stuck", metav1.Now())
		status := revisionsOf(deployment(t, "a"), []v1alpha1.Set{stuck}).Report(nil, nil)
		if got := string(status.Conditions[1].Status) + "/" + status.Conditions[1].Reason; got != want {
			t.Errorf("%s: got %s, want %s", reason, got, want)
		}
	}
}

// TestWithoutOrphans goes on although a set cannot be adopted. Its revision is taken nevertheless.
func TestWithoutOrphans(t *testing.T) {
	t.Parallel()
	found := revisionsOf(deployment(t, "b"), []v1alpha1.Set{set(t, "orphan 4 a orphan"), set(t, "web-1 1 a available succeeded applied=3")})
	if got := short(found.Decide(true)); got != "adopt orphan" {
		t.Errorf("got %q", got)
	}
	if got := short(found.Decide(false)); got != "create web-5" {
		t.Errorf("got %q", got)
	}
}

// TestNames of the status: the highest revision stays, the name is that of a set that exists.
func TestNames(t *testing.T) {
	t.Parallel()
	d := deployment(t, "a seen=7")
	d.Status.SetName = "web-7"
	for sets, want := range map[string]string{"": "7 ", "web-3 3 a": "7 web-3", "web-9 9 a": "9 web-9"} {
		var found []v1alpha1.Set
		if sets != "" {
			found = append(found, set(t, sets))
		}
		status := revisionsOf(d, found).Report(nil, nil)
		if got := fmt.Sprint(status.Revision, " ", status.SetName); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestPausing says for which sets a paused deployment waits: one that is being archived is not held up.
func TestPausing(t *testing.T) {
	t.Parallel()
	sets := []v1alpha1.Set{set(t, "web-1 1 a archived"), set(t, "web-2 2 b archived noticed"), set(t, "web-3 3 c paused noticed"), set(t, "web-4 4 d paused")}
	status := revisionsOf(deployment(t, "d paused"), sets).Report(nil, nil)
	if got := status.Conditions[4]; got.Type != v1alpha1.DeploymentPaused || got.Message != "Not paused yet, or still being archived: web-4, web-1" {
		t.Errorf("unexpected condition %+v", got)
	}
}
