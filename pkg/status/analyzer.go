// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/component-operator/runtime/pkg/types"
)

// Options configure an Analyzer.
type Options struct {
	// Clock is for rules that depend on time. Defaults to the real time.
	Clock clock.PassiveClock
}

// Analyzer computes statuses by kstatus, hints and the rules of this package. It keeps no state and is safe for
// concurrent use.
type Analyzer struct {
	annotation string
	clock      clock.PassiveClock
	custom     StatusAnalyzer
}

var _ StatusAnalyzer = (*Analyzer)(nil)

// NewAnalyzer returns an Analyzer. The reconciler name is the prefix of the annotation that holds the hints.
func NewAnalyzer(reconcilerName string, options Options) *Analyzer {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	return &Analyzer{
		annotation: reconcilerName + "/" + types.AnnotationKeySuffixStatusHint,
		clock:      options.Clock,
	}
}

// Adapt returns an Analyzer that takes the status from the given analyzer, and the message from this package if both
// agree on the status. Only the given analyzer handles hints; Analyze ignores its argument.
func Adapt(reconcilerName string, analyzer StatusAnalyzer) *Analyzer {
	if own, ok := analyzer.(*Analyzer); ok {
		return own
	}
	adapted := NewAnalyzer(reconcilerName, Options{})
	adapted.custom = analyzer
	return adapted
}

// ComputeStatus returns the status that AnalyzeAnnotated computes.
func (a *Analyzer) ComputeStatus(object *unstructured.Unstructured) (Status, error) {
	result, err := a.AnalyzeAnnotated(object)
	return result.Status, err
}

// AnalyzeAnnotated is Analyze with the hints of the object's own annotation. It also fails if the annotation is
// invalid.
func (a *Analyzer) AnalyzeAnnotated(object *unstructured.Unstructured) (Result, error) {
	if object == nil {
		return a.Analyze(nil, Hints{})
	}
	hints, err := ParseHints(object.GetAnnotations()[a.annotation])
	if err != nil {
		err = fmt.Errorf("reading annotation %s of %s: %w", a.annotation, types.IDOf(object), err)
		return Result{Status: UnknownStatus, Message: Clip(err.Error())}, err
	}
	return a.Analyze(object, hints)
}

var errNoObject = errors.New("no object given")

// Analyze computes the status of an object, which must be complete, including its status; it is not changed. It fails
// only if there is no object, or if an adapted analyzer fails. A malformed status is no error, because others write it:
// the result is UnknownStatus with a message.
func (a *Analyzer) Analyze(object *unstructured.Unstructured, hints Hints) (Result, error) {
	if object == nil || object.Object == nil {
		return Result{Status: UnknownStatus, Message: errNoObject.Error()}, errNoObject
	}
	if a.custom != nil {
		return a.analyzeCustom(object)
	}
	return a.analyze(object, hints), nil
}

func (a *Analyzer) analyzeCustom(object *unstructured.Unstructured) (Result, error) {
	verdict, err := a.custom.ComputeStatus(object.DeepCopy())
	if err != nil {
		return Result{Status: UnknownStatus, Message: Clip(err.Error())}, err
	}
	own := a.analyze(object, Hints{})
	if own.Status == verdict {
		return Result{Status: verdict, Message: own.Message, Grade: own.Grade}, nil
	}
	return Result{Status: verdict, Message: plainMessage(verdict)}, nil
}

func (a *Analyzer) analyze(object *unstructured.Unstructured, hints Hints) Result {
	if result, terminating := Terminating(object); terminating {
		return result
	}
	promised := hints
	promised.HasObservedGeneration = hints.HasObservedGeneration || maintainsObservedGeneration(object)
	completed := promised.complete(object)
	computed, err := compute(completed)
	if err != nil {
		return Result{Status: UnknownStatus, Message: Clip("status cannot be computed: " + err.Error())}
	}
	view := newView(completed)
	result := Result{Status: Status(computed.Status), Message: view.message(computed)}
	result = a.judgeKind(view, computed, result)
	if hints.RunToCompletion && view.is("", "Pod") && result.Status == CurrentStatus && view.text("status", "phase") != "Succeeded" {
		result.Status, result.Message = InProgressStatus, "has not completed"
	}
	result = requireConditions(view, result, hints.Conditions)
	result = view.graded(result)
	result.Message = Clip(result.Message)
	return result
}

// judgeKind applies the rules of this package for built-in kinds.
func (a *Analyzer) judgeKind(view view, computed *kstatus.Result, result Result) Result {
	switch {
	case view.is("", "Pod"):
		return a.judgePod(view, computed, result)
	case view.is("apps", "StatefulSet") && view.updatesOnDelete():
		return requireCount(result, view.replicaCount("ready", "readyReplicas", false))
	case view.is("apps", "DaemonSet") && view.updatesOnDelete():
		return disregardVersion(computed, result, view.daemonSetCount())
	case view.is("", "ReplicationController"):
		return requireCount(result, view.replicaSetCount())
	case view.is("batch", "Job"):
		return judgeJob(view, result)
	case view.is("", "PersistentVolumeClaim"), view.is("", "PersistentVolume"):
		return judgeVolume(view, result)
	case view.is("", "Service"):
		return judgeService(view, result)
	case view.is("autoscaling", "HorizontalPodAutoscaler"):
		return judgeAutoscaler(view, result)
	case view.is("apiextensions.k8s.io", "CustomResourceDefinition"):
		return requireConditions(view, result, []string{"NamesAccepted", "Established"})
	case view.is("apiregistration.k8s.io", "APIService"):
		return requireConditions(view, result, []string{"Available"})
	default:
		return result
	}
}

// compute calls kstatus, which panics if some fields have an unexpected type. Others write the object, so a panic means
// that it is malformed.
func compute(object *unstructured.Unstructured) (result *kstatus.Result, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("malformed object: %v", reason)
		}
	}()
	return kstatus.Compute(object)
}

// judgePod makes a Pod that has ended in failure fail, which kstatus accepts as current. It also repeats the only rule
// of kstatus that depends on time, with our clock: a Pod that cannot be scheduled fails only after a while.
func (a *Analyzer) judgePod(view view, computed *kstatus.Result, result Result) Result {
	if view.text("status", "phase") == "Failed" {
		return Result{Status: FailedStatus, Message: view.podFailure()}
	}
	if len(computed.Conditions) == 0 || !slices.Contains([]string{"PodNotScheduled", "PodUnschedulable"}, computed.Conditions[0].Reason) {
		return result
	}
	result.Message = view.condition("PodScheduled").describe()
	remaining := view.object.GetCreationTimestamp().Add(kstatus.ScheduleWindow).Sub(a.clock.Now())
	if remaining <= 0 {
		result.Status = FailedStatus
		return result
	}
	result.Status = InProgressStatus
	// The window must have passed, not just ended.
	result.Deadline = remaining + time.Millisecond
	return result
}

// judgeJob is stricter than kstatus, for which a Job is current as soon as it runs.
func judgeJob(view view, result Result) Result {
	if result.Status == CurrentStatus && !view.condition("Complete").isTrue() {
		result.Status = InProgressStatus
	}
	return result
}

// judgeService is stricter than kstatus: a Service of type LoadBalancer is ready only with an address, as users of Helm
// and Argo CD expect.
func judgeService(view view, result Result) Result {
	addresses, _ := view.field("status", "loadBalancer", "ingress")
	external, _ := view.field("spec", "externalIPs")
	if view.text("spec", "type") == "LoadBalancer" && result.Status == CurrentStatus && isEmpty(addresses) && isEmpty(external) {
		return Result{Status: InProgressStatus, Message: "its load balancer has no address yet"}
	}
	return result
}

func isEmpty(list any) bool {
	items, _ := list.([]any)
	return len(items) == 0
}

// judgeVolume makes a claim that has lost its volume fail, and a volume that could not be reclaimed. kstatus waits for
// them forever, or accepts them.
func judgeVolume(view view, result Result) Result {
	switch view.text("status", "phase") {
	case "Lost":
		return Result{Status: FailedStatus, Message: "its volume is lost"}
	case "Failed":
		return Result{Status: FailedStatus, Message: "could not be reclaimed: " + cmp.Or(view.text("status", "message"), view.text("status", "reason"), "no reason is given")}
	default:
		return result
	}
}

// disregardVersion makes a DaemonSet current even if its pods are of an older version. kstatus would wait until a user
// deletes them.
func disregardVersion(computed *kstatus.Result, result Result, pods *count) Result {
	if len(computed.Conditions) > 0 && computed.Conditions[0].Reason == "LessUpdated" && pods.settled {
		result.Status = CurrentStatus
	}
	return result
}

// requireCount keeps a workload in progress until it has the desired number of pods, which kstatus does not check.
func requireCount(result Result, pods *count) Result {
	if result.Status == CurrentStatus && !pods.settled {
		result.Status = InProgressStatus
	}
	return result
}

// requireConditions keeps an object in progress until all given conditions are True.
func requireConditions(view view, result Result, names []string) Result {
	if result.Status != CurrentStatus {
		return result
	}
	for _, name := range names {
		if found := view.condition(name); !found.isTrue() {
			return Result{Status: InProgressStatus, Message: found.describe()}
		}
	}
	return result
}

// Judge computes the status of dependents. The engine calls it where a watch delivers an object, once for each version
// of the object, and keeps only the result. So a Judge must not make requests, must not wait, and must not change the
// object. It must be safe for concurrent use. A panic counts as UnknownStatus.
//
// Analyzer is the default Judge.
type Judge interface {
	// Judge returns the status of an object, which is complete, including its status. It is not called for objects that
	// are being deleted: they have the result of Terminating.
	Judge(object *unstructured.Unstructured) Result
	// Rules identifies the rules. As long as it returns the same text, Judge returns the same result for the same
	// object, apart from rules that depend on time, for which Result.Deadline exists. If the text changes, each
	// dependent is read and judged again, once.
	Rules() string
}

// MetadataJudge is a Judge that needs only the metadata of objects of some kinds. Objects of these kinds are watched
// without their content. A Judge without the methods of MetadataJudge needs the content of all objects.
type MetadataJudge interface {
	Judge
	// JudgesMetadata reports whether the status of objects of this kind depends on their metadata only.
	JudgesMetadata(kind schema.GroupKind) bool
}

// OverrulingJudge is a Judge whose rules take precedence over the annotation ready-when of some objects. Without this
// interface, the annotation takes precedence over the Judge.
type OverrulingJudge interface {
	Judge
	// Overrules reports whether the rules take precedence for this object.
	Overrules(object *unstructured.Unstructured) bool
}

var _ MetadataJudge = (*Analyzer)(nil)

// Terminating returns the status of an object that is being deleted: TerminatingStatus, with a message about what
// blocks the deletion. It reports false for other objects.
func Terminating(object *unstructured.Unstructured) (result Result, terminating bool) {
	if object.GetDeletionTimestamp() == nil {
		return Result{}, false
	}
	return Result{Status: TerminatingStatus, Message: terminatingMessage(object)}, true
}

// Outdated reports whether the status of an object is of another generation than the current one, according to
// status.observedGeneration, which it also returns.
func Outdated(object *unstructured.Unstructured) (observed int64, outdated bool) {
	observed, found, err := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	return observed, err == nil && found && observed != object.GetGeneration()
}

// Judge is AnalyzeAnnotated with the error in the message of the result.
func (a *Analyzer) Judge(object *unstructured.Unstructured) Result {
	result, _ := a.AnalyzeAnnotated(object)
	return result
}

// Rules returns the annotation of the hints: the rules of an Analyzer do not change.
func (a *Analyzer) Rules() string { return a.annotation }

// Status is the status of an object in the vocabulary of kstatus. It is part of the persisted inventory.
type Status kstatus.Status

const (
	// InProgressStatus means that a controller is still working on the object, or has not observed it yet.
	InProgressStatus = Status(kstatus.InProgressStatus)
	// FailedStatus means that a controller has given up, so that waiting alone does not help.
	FailedStatus = Status(kstatus.FailedStatus)
	// CurrentStatus means that the object matches its spec.
	CurrentStatus = Status(kstatus.CurrentStatus)
	// TerminatingStatus means that the object is being deleted.
	TerminatingStatus = Status(kstatus.TerminatingStatus)
	// NotFoundStatus means that the object does not exist. An Analyzer never returns it.
	NotFoundStatus = Status(kstatus.NotFoundStatus)
	// UnknownStatus means that the object's status is malformed, or that it cannot be computed.
	UnknownStatus = Status(kstatus.UnknownStatus)
)

// String returns the status as it is persisted.
func (s Status) String() string {
	return string(s)
}

// StatusAnalyzer computes statuses. Implementations must be safe for concurrent use and must not change the object.
// Analyzer is the implementation of this package; Adapt converts others into an Analyzer.
type StatusAnalyzer interface { //nolint:revive // existing operators use this name
	ComputeStatus(object *unstructured.Unstructured) (Status, error)
}

// NewStatusAnalyzer returns an Analyzer with default options. It reads hints from the annotation
// "<reconcilerName>/status-hint".
func NewStatusAnalyzer(reconcilerName string) StatusAnalyzer {
	return NewAnalyzer(reconcilerName, Options{})
}

// Result is the status of one object.
type Result struct {
	Status Status
	// Message explains the status, for example "1/3 replicas available". It names neither the object nor times, and has
	// at most MaxMessageLength bytes.
	Message string
	// Reason is the status in one word of the judge's own vocabulary, such as "Scaling"; empty if it has none.
	Reason string
	// Grade is how well the object does its job; empty if this follows from the status, see Health.
	Grade Grade
	// Deadline is the time after which the status may change although the object does not. Zero means that it changes
	// only with the object.
	Deadline time.Duration
}

// Grade is how well an object does its job at the moment. This is independent of whether the object matches its spec: a
// Deployment that is being updated may be healthy although it is not ready, and an autoscaler that lacks metrics is
// degraded although it is ready.
type Grade string

const (
	// GradeHealthy means that the object does its job.
	GradeHealthy Grade = "Healthy"
	// GradeDegraded means that the object does its job in part.
	GradeDegraded Grade = "Degraded"
	// GradeDown means that the object does not do its job.
	GradeDown Grade = "Down"
)

// Health returns the grade of the object. If the judge has given none, it follows from the status: Healthy for
// CurrentStatus and Down for FailedStatus. It is empty for other statuses, from which it does not follow.
func (r Result) Health() Grade {
	switch {
	case r.Grade != "":
		return r.Grade
	case r.Status == CurrentStatus:
		return GradeHealthy
	case r.Status == FailedStatus:
		return GradeDown
	default:
		return ""
	}
}

// graded adds the grade of a workload to a result, based on the proportion of ready pods.
func (v view) graded(result Result) Result {
	var ready, desired int64
	switch v.kind.String() {
	case "Deployment.apps", "StatefulSet.apps", "ReplicaSet.apps", "ReplicationController":
		ready, desired = v.number(0, "status", "readyReplicas"), v.number(1, "spec", "replicas")
	case "DaemonSet.apps":
		ready, desired = v.number(0, "status", "numberReady"), v.number(0, "status", "desiredNumberScheduled")
	default:
		return result
	}
	switch {
	case ready >= desired:
		result.Grade = GradeHealthy
	case ready > 0:
		result.Grade = GradeDegraded
	default:
		result.Grade = GradeDown
	}
	return result
}

// statusless are the built-in kinds without a status: their objects are current as soon as they exist.
var statusless = map[schema.GroupKind]bool{
	{Kind: "ConfigMap"}:      true,
	{Kind: "Endpoints"}:      true,
	{Kind: "LimitRange"}:     true,
	{Kind: "PodTemplate"}:    true,
	{Kind: "Secret"}:         true,
	{Kind: "ServiceAccount"}: true,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:     true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"}: true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}:   true,
	{Group: "coordination.k8s.io", Kind: "Lease"}:                                     true,
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}:                                true,
	{Group: "networking.k8s.io", Kind: "IngressClass"}:                                true,
	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:                               true,
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:                                      true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:                         true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}:                  true,
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}:                                true,
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:                         true,
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:                               true,
	{Group: "storage.k8s.io", Kind: "CSIDriver"}:                                      true,
	{Group: "storage.k8s.io", Kind: "StorageClass"}:                                   true,
}

// JudgesMetadata reports whether the status of objects of this kind depends on their metadata only: the kind is built
// in and has no status, and the analyzer is not an adapted one, which may read anything.
func (a *Analyzer) JudgesMetadata(kind schema.GroupKind) bool {
	return a.custom == nil && statusless[kind]
}

// Hints add information that an object does not show before its controller has written its status.
type Hints struct {
	// HasObservedGeneration means that the controller maintains status.observedGeneration. While the field is missing,
	// the observedGeneration of the Ready condition counts; without that, the object counts as not observed.
	HasObservedGeneration bool
	// HasReadyCondition means that the controller maintains a Ready condition. While it is missing, it counts as
	// Unknown.
	HasReadyCondition bool
	// RunToCompletion makes a Pod current when it has succeeded, not while it runs. It has no effect on other kinds.
	RunToCompletion bool
	// Conditions are further conditions that must be True before the object is current.
	Conditions []string
}

const allowedHints = types.StatusHintHasObservedGeneration + ", " +
	types.StatusHintHasReadyCondition + ", " + types.StatusHintRunToCompletion + ", " + types.StatusHintConditions + "=<condition>[;<condition>…]"

// ParseHints parses the value of a status-hint annotation: a comma-separated list of hints, in kebab, camel or Pascal
// case. Spaces around commas, semicolons and equal signs are allowed. A blank value means no hints. The error names the
// invalid hint and the allowed ones, but not the annotation or the object.
func ParseHints(value string) (Hints, error) {
	var hints Hints
	if strings.TrimSpace(value) == "" {
		return hints, nil
	}
	for part := range strings.SplitSeq(value, ",") {
		name, argument, hasArgument := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		switch name {
		case types.StatusHintHasObservedGeneration, "hasObservedGeneration", "HasObservedGeneration":
			hints.HasObservedGeneration = true
		case types.StatusHintHasReadyCondition, "hasReadyCondition", "HasReadyCondition":
			hints.HasReadyCondition = true
		case types.StatusHintRunToCompletion, "runToCompletion", "RunToCompletion":
			hints.RunToCompletion = true
		case types.StatusHintConditions, "Conditions":
			conditions, err := parseConditions(name, argument)
			if err != nil {
				return Hints{}, err
			}
			hints.Conditions = append(hints.Conditions, conditions...)
			continue
		default:
			return Hints{}, fmt.Errorf("unknown status hint %q; must be one of: %s", name, allowedHints)
		}
		if hasArgument {
			return Hints{}, fmt.Errorf("status hint %q takes no value, got %q; must be one of: %s", name, argument, allowedHints)
		}
	}
	return hints, nil
}

func parseConditions(hint string, argument string) ([]string, error) {
	var conditions []string
	for condition := range strings.SplitSeq(argument, ";") {
		condition = strings.TrimSpace(condition)
		if condition == "" {
			return nil, fmt.Errorf("status hint %q needs names of conditions, got %q; must be one of: %s", hint, argument, allowedHints)
		}
		conditions = append(conditions, condition)
	}
	return conditions, nil
}

// maintainsObservedGeneration reports whether the object is of a built-in kind whose controller maintains
// status.observedGeneration. Without that hint, a workload that its controller has not observed yet could count as
// current, for example a StatefulSet with zero replicas. A PodDisruptionBudget needs no hint: it is in force at once,
// and without controllers, as in tests, it would never be ready.
func maintainsObservedGeneration(object *unstructured.Unstructured) bool {
	kinds := []string{"Deployment.apps", "StatefulSet.apps", "ReplicaSet.apps", "DaemonSet.apps", "ReplicationController"}
	return slices.Contains(kinds, object.GroupVersionKind().GroupKind().String())
}

// complete returns the object with the fields that the hints promise: the object itself if none is missing, otherwise a
// copy that shares all but the added fields. It leaves a malformed status to kstatus, which reports it.
func (h Hints) complete(object *unstructured.Unstructured) *unstructured.Unstructured {
	status, ok := object.Object["status"].(map[string]any)
	if !ok && object.Object["status"] != nil {
		return object
	}
	added := map[string]any{}
	if h.HasObservedGeneration && status["observedGeneration"] == nil {
		added["observedGeneration"] = readyGeneration(object)
	}
	conditions, ok := status["conditions"].([]any)
	wellFormed := ok || status["conditions"] == nil
	if h.HasReadyCondition && wellFormed && !newView(object).condition("Ready").present {
		added["conditions"] = append(slices.Clone(conditions), map[string]any{"type": "Ready", "status": "Unknown"})
	}
	if len(added) == 0 {
		return object
	}
	content, completed := maps.Clone(object.Object), map[string]any{}
	maps.Copy(completed, status)
	maps.Copy(completed, added)
	content["status"] = completed
	return &unstructured.Unstructured{Object: content}
}

// readyGeneration returns the generation that the Ready condition has observed, or -1, which no object has.
func readyGeneration(object *unstructured.Unstructured) int64 {
	if generation, ok := newView(object).condition("Ready").observedGeneration(); ok {
		return generation
	}
	return -1
}
