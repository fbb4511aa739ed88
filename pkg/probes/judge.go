// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/status"
)

// judge is a status.Judge.
type judge struct {
	probes []compiled
	base   status.Judge // nil: objects that no probe selects are ready
	rules  string
}

// compiled is a Probe that can be evaluated.
type compiled struct {
	kind   *schema.GroupKind // nil: all
	labels labels.Selector   // nil: all
	checks []check
}

// check returns the answer for an object, and the reason if it is not yes. The budget limits what it may cost.
type check func(object *unstructured.Unstructured, budget *judges.Budget) (answer, string)

const (
	// MaxChecks is the maximum number of checks of all probes together.
	MaxChecks = 256
	// maxRules is the maximum length of the expressions of all probes together, in bytes.
	maxRules = 64 << 10
)

type answer int

const (
	yes answer = iota
	no
	unknown
)

// New returns a Judge that evaluates the probes. An object is ready if all checks of all probes that select it are
// true. An object that no probe selects is judged by base; if base is nil, it is ready as soon as it exists. Probes
// take precedence over the annotation ready-when, but not over fail-when.
//
// The error names the invalid field and its probe, and the allowed values.
func New(probes []Probe, base status.Judge) (status.Judge, error) {
	j := &judge{base: base}
	count, length := 0, 0
	for i, probe := range probes {
		for _, check := range probe.Checks {
			if check.CEL != nil {
				length += len(check.CEL.Rule)
			}
		}
		if length > maxRules {
			return nil, fmt.Errorf("probes[%d].probes: the expressions of all probes together have more than %d bytes; at most %d are allowed", i, maxRules, maxRules)
		}
		if count += len(probe.Checks); count > MaxChecks {
			return nil, fmt.Errorf("probes[%d].probes: more than %d checks in all probes together; at most %d are allowed", i, MaxChecks, MaxChecks)
		}
		c, err := compile(probe)
		if err != nil {
			return nil, fmt.Errorf("probes[%d].%w", i, err)
		}
		j.probes = append(j.probes, c)
	}
	sum, err := manifest.Digest(probes)
	if err != nil {
		return nil, fmt.Errorf("computing the digest of the probes: %w", err)
	}
	j.rules = "probes " + sum
	if base != nil {
		j.rules += " " + base.Rules()
	}
	return j, nil
}

// Rules returns a text with a digest of the probes.
func (j *judge) Rules() string { return j.rules }

// JudgesMetadata reports false for the kinds that a probe may select.
func (j *judge) JudgesMetadata(kind schema.GroupKind) bool {
	if slices.ContainsFunc(j.probes, func(c compiled) bool { return c.kind == nil || *c.kind == kind }) {
		return false
	}
	if j.base == nil {
		return true
	}
	base, ok := j.base.(status.MetadataJudge)
	return ok && base.JudgesMetadata(kind)
}

// Overrules reports whether a probe selects the object.
func (j *judge) Overrules(object *unstructured.Unstructured) bool {
	return slices.ContainsFunc(j.probes, func(c compiled) bool { return c.selects(object) })
}

// Judge evaluates all checks of all probes that select the object. If some answers are unknown, the message contains
// only these.
func (j *judge) Judge(object *unstructured.Unstructured) status.Result {
	result, _ := j.JudgeWithin(object, judges.Full)
	return result
}

// JudgeWithin is Judge with a limit for the cost of all checks together; see package judges. Checks beyond the limit
// are unknown, and within is false.
func (j *judge) JudgeWithin(object *unstructured.Unstructured, limit uint64) (result status.Result, within bool) {
	budget := judges.NewBudget(limit)
	result = j.judge(object, budget)
	return result, budget.Spend(0) == nil
}

func (j *judge) judge(object *unstructured.Unstructured, budget *judges.Budget) status.Result {
	selected := false
	reasons := map[answer][]string{}
	for _, c := range j.probes {
		if !c.selects(object) {
			continue
		}
		selected = true
		if observed, outdated := status.Outdated(object); outdated {
			return status.Result{Status: status.InProgressStatus, Message: fmt.Sprintf("generation %d is not observed yet, only %d", object.GetGeneration(), observed)}
		}
		for _, check := range c.checks {
			if err := budget.Spend(1); err != nil {
				reasons[unknown] = append(reasons[unknown], "evaluating all checks "+err.Error())
				break
			}
			found, reason := check(object, budget)
			reason = status.Clip(reason)
			if !slices.Contains(reasons[found], reason) {
				reasons[found] = append(reasons[found], reason)
			}
		}
	}
	switch {
	case !selected && j.base == nil:
		return status.Result{Status: status.CurrentStatus, Message: "applied"}
	case !selected:
		return j.base.Judge(object)
	}
	for _, worse := range []answer{unknown, no} {
		if len(reasons[worse]) > 0 {
			return status.Result{Status: status.InProgressStatus, Message: status.Clip(strings.Join(reasons[worse], "; "))}
		}
	}
	return status.Result{Status: status.CurrentStatus, Message: "all probes pass"}
}

func (c compiled) selects(object *unstructured.Unstructured) bool {
	return (c.kind == nil || *c.kind == object.GroupVersionKind().GroupKind()) && (c.labels == nil || c.labels.Matches(labels.Set(object.GetLabels())))
}

// Probe has checks for the objects that it selects.
type Probe struct {
	// Selector selects objects as they are in the cluster. Defaults to all objects.
	Selector Selector `json:"selector,omitzero"`
	// Checks must all be true. At least one; at most 256 in all probes together.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Checks []Check `json:"probes"`
}

// Selector selects objects by both its fields.
type Selector struct {
	// Kind is the group and kind of the objects, in whatever version. Defaults to all.
	Kind *Kind `json:"kind,omitempty"`
	// Labels select objects by their labels. Defaults to all.
	Labels *metav1.LabelSelector `json:"selector,omitempty"`
}

// Kind is a group and kind.
type Kind struct {
	// Group is empty for the core group.
	Group string `json:"group"`
	// Kind is required.
	// +kubebuilder:validation:MinLength=1
	Kind string `json:"kind"`
}

// Check is one check of an object. Exactly one field must be set.
//
// The answer of a check is true, false or unknown. It is unknown for all checks if the object has a
// status.observedGeneration that is not its generation.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type Check struct {
	// Condition checks a condition in status.conditions.
	Condition *Condition `json:"condition,omitempty"`
	// FieldsEqual compares two fields.
	FieldsEqual *FieldsEqual `json:"fieldsEqual,omitempty"`
	// FieldValue compares a field with a value.
	FieldValue *FieldValue `json:"fieldValue,omitempty"`
	// CEL evaluates an expression.
	CEL *CEL `json:"cel,omitempty"`
}

// Condition is true if the condition has the status. It is unknown if the condition does not exist, or was computed for
// another generation.
type Condition struct {
	// Type is that of the condition. Required.
	// +kubebuilder:validation:MinLength=1
	Type string `json:"type"`
	// Status is True, False or Unknown. Defaults to True.
	// +kubebuilder:validation:Enum=True;False;Unknown
	Status metav1.ConditionStatus `json:"status,omitempty"`
}

// FieldsEqual is true if both fields have the same value, or if neither exists. It is false if only one exists.
//
// The fields are JSON paths of one field each: .status.replicas, .spec.containers[0].image,
// .metadata.annotations['example.io/revision'], or with backslashes, .metadata.annotations.example\.io/revision. Braces
// are optional. Wildcards, filters and the like are not allowed; use cel for these.
type FieldsEqual struct {
	// FieldA is one field. Required.
	// +kubebuilder:validation:Pattern=`^\{?\..*[^.].*$`
	// +kubebuilder:validation:MaxLength=512
	FieldA string `json:"fieldA"`
	// FieldB is the other one. Required.
	// +kubebuilder:validation:Pattern=`^\{?\..*[^.].*$`
	// +kubebuilder:validation:MaxLength=512
	FieldB string `json:"fieldB"`
}

// FieldValue is true if the field has the value, and unknown if the field does not exist.
type FieldValue struct {
	// Field is a JSON path; see FieldsEqual. Required.
	// +kubebuilder:validation:Pattern=`^\{?\..*[^.].*$`
	// +kubebuilder:validation:MaxLength=512
	Field string `json:"field"`
	// Value is the JSON of the value: "text" in quotes, 3, true, [1, 2]. Required.
	Value apiextensionsv1.JSON `json:"value"`
}

// CEL is true if the expression is. It is unknown if it cannot be evaluated, for example because a field does not
// exist.
type CEL struct {
	// Rule is an expression over the object, self, that is true or false. Required.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Rule string `json:"rule"`
	// Message says what is wrong if the expression is false. Defaults to the expression.
	// +kubebuilder:validation:MaxLength=4096
	Message string `json:"message,omitempty"`
}

// compile returns the probe ready for evaluation. The error begins with the field.
func compile(probe Probe) (compiled, error) {
	var c compiled
	if kind := probe.Selector.Kind; kind != nil {
		if kind.Kind == "" {
			return c, errors.New(`selector.kind.kind: invalid value ""; must be the name of a kind, such as Deployment`)
		}
		c.kind = &schema.GroupKind{Group: kind.Group, Kind: kind.Kind}
	}
	if probe.Selector.Labels != nil {
		selector, err := metav1.LabelSelectorAsSelector(probe.Selector.Labels)
		if err != nil {
			return c, fmt.Errorf("selector.selector: %w", err)
		}
		c.labels = selector
	}
	if len(probe.Checks) == 0 {
		return c, errors.New("probes: there are none; at least one is required")
	}
	for i, declared := range probe.Checks {
		check, err := compileCheck(declared)
		if err != nil {
			return c, fmt.Errorf("probes[%d]%w", i, err)
		}
		c.checks = append(c.checks, check)
	}
	return c, nil
}

func compileCheck(declared Check) (check, error) {
	count := 0
	for _, isSet := range []bool{declared.Condition != nil, declared.FieldsEqual != nil, declared.FieldValue != nil, declared.CEL != nil} {
		if isSet {
			count++
		}
	}
	switch {
	case count != 1:
		return nil, fmt.Errorf(": it has %d checks; must have exactly one of condition, fieldsEqual, fieldValue and cel", count)
	case declared.Condition != nil:
		return conditionCheck(*declared.Condition)
	case declared.FieldsEqual != nil:
		return fieldsCheck(*declared.FieldsEqual)
	case declared.FieldValue != nil:
		return valueCheck(*declared.FieldValue)
	default:
		return celCheck(*declared.CEL)
	}
}

func conditionCheck(declared Condition) (check, error) {
	wanted := cmp.Or(declared.Status, metav1.ConditionTrue)
	if declared.Type == "" {
		return nil, errors.New(`.condition.type: invalid value ""; must be the type of a condition, such as Available`)
	}
	if !slices.Contains([]metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown}, wanted) {
		return nil, fmt.Errorf(".condition.status: invalid value %q; must be one of: True, False, Unknown", declared.Status)
	}
	return func(object *unstructured.Unstructured, budget *judges.Budget) (answer, string) {
		found, _, _ := unstructured.NestedFieldNoCopy(object.Object, "status", "conditions")
		items, isList := found.([]any)
		if !isList && found != nil {
			return unknown, "status.conditions is not a list of conditions"
		}
		if err := budget.Spend(uint64(len(items))); err != nil {
			return unknown, fmt.Sprintf("condition %s: looking for it %s", declared.Type, err)
		}
		for _, item := range items {
			fields, _ := item.(map[string]any)
			if fields["type"] == declared.Type {
				return compareCondition(object, fields, declared.Type, wanted)
			}
		}
		return unknown, "condition " + declared.Type + " is missing"
	}, nil
}

func compareCondition(object *unstructured.Unstructured, fields map[string]any, name string, wanted metav1.ConditionStatus) (answer, string) {
	if observed, ok := fields["observedGeneration"].(int64); ok && observed != object.GetGeneration() {
		return unknown, fmt.Sprintf("condition %s is of generation %d, not %d", name, observed, object.GetGeneration())
	}
	if fields["status"] == string(wanted) {
		return yes, ""
	}
	words := fmt.Sprintf("condition %s is %v, not %s", name, fields["status"], wanted)
	if reason, _ := fields["reason"].(string); reason != "" {
		words += " (" + reason + ")"
	}
	if message, _ := fields["message"].(string); message != "" {
		words += ": " + message
	}
	return no, words
}

func fieldsCheck(declared FieldsEqual) (check, error) {
	a, err := newPath(declared.FieldA)
	if err != nil {
		return nil, fmt.Errorf(".fieldsEqual.fieldA: %w", err)
	}
	b, err := newPath(declared.FieldB)
	if err != nil {
		return nil, fmt.Errorf(".fieldsEqual.fieldB: %w", err)
	}
	return func(object *unstructured.Unstructured, budget *judges.Budget) (answer, string) {
		left, hasLeft := a.find(object)
		right, hasRight := b.find(object)
		if err := budget.Spend(judges.Size(left) + judges.Size(right)); err != nil {
			return unknown, fmt.Sprintf("%s and %s: comparing them %s", a, b, err)
		}
		switch {
		case hasLeft != hasRight && hasLeft:
			return no, fmt.Sprintf("%s%s, and %s is missing", a, is(object, left), b)
		case hasLeft != hasRight:
			return no, fmt.Sprintf("%s is missing, and %s%s", a, b, is(object, right))
		case equality.Semantic.DeepEqual(left, right):
			return yes, ""
		case isSecret(object):
			return no, fmt.Sprintf("%s and %s have different values", a, b)
		default:
			return no, fmt.Sprintf("%s%s, and %s%s", a, is(object, left), b, is(object, right))
		}
	}, nil
}

func valueCheck(declared FieldValue) (check, error) {
	field, err := newPath(declared.Field)
	if err != nil {
		return nil, fmt.Errorf(".fieldValue.field: %w", err)
	}
	var wanted any
	if err := json.Unmarshal(declared.Value.Raw, &wanted); err != nil {
		return nil, fmt.Errorf(".fieldValue.value: invalid value %q: %w; must be a JSON value", declared.Value.Raw, err)
	}
	return func(object *unstructured.Unstructured, budget *judges.Budget) (answer, string) {
		found, exists := field.find(object)
		if err := budget.Spend(judges.Size(found)); err != nil {
			return unknown, fmt.Sprintf("%s: comparing it %s", field, err)
		}
		switch {
		case !exists:
			return unknown, fmt.Sprintf("%s is missing", field)
		case equality.Semantic.DeepEqual(found, wanted):
			return yes, ""
		case isSecret(object):
			return no, fmt.Sprintf("%s has another value", field)
		default:
			return no, fmt.Sprintf("%s%s, not %s", field, is(object, found), text(wanted))
		}
	}, nil
}

// is describes the value of a field. It does not show values of Secrets.
func is(object *unstructured.Unstructured, value any) string {
	if isSecret(object) {
		return " exists"
	}
	return " is " + text(value)
}

func isSecret(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Secret"}
}

// text returns a value as JSON.
func text(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(encoded)
}

func celCheck(declared CEL) (check, error) {
	expression, err := judges.Compile(declared.Rule)
	if err != nil {
		return nil, fmt.Errorf(".cel.rule: %w", err)
	}
	return func(object *unstructured.Unstructured, budget *judges.Budget) (answer, string) {
		switch holds, err := expression.Holds(object, budget); {
		case err != nil:
			return unknown, fmt.Sprintf("%s cannot be evaluated: %s", expression, err)
		case holds:
			return yes, ""
		default:
			return no, cmp.Or(strings.TrimSpace(declared.Message), expression.String()+" is false")
		}
	}, nil
}

// maxPath is the maximum length of a path, in bytes; see also the schema.
const maxPath = 512

// path is the path of one field: a subset of the JSON paths of kubectl, without wildcards, slices, filters and
// recursive descent.
type path struct {
	text  string
	steps []step
}

// step leads to a field of an object, or to an entry of a list.
type step struct {
	name  string
	index int // -1: the step has a name
}

// segment is one step of a path: .name, ['name'], ["name"] or [3]. A backslash in a name means the character that
// follows.
var segment = regexp.MustCompile(`^(?:\.((?:[^.\[\]{}\\*\s]|\\.)+)|\['((?:[^'\\]|\\.)+)'\]|\["((?:[^"\\]|\\.)+)"\]|\[(\d{1,9})\])`)

func newPath(text string) (path, error) {
	const allowed = `must be the path of one field, such as .status.replicas or .metadata.annotations['example.io/revision'], of at most %d bytes`
	trimmed := strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(trimmed, "{"); ok {
		trimmed = strings.TrimSuffix(inner, "}")
	}
	if len(text) > maxPath {
		return path{}, fmt.Errorf("invalid value of %d bytes; "+allowed, len(text), maxPath)
	}
	p := path{text: trimmed}
	for rest := trimmed; rest != "" || len(p.steps) == 0; {
		found := segment.FindStringSubmatch(rest)
		if found == nil {
			return path{}, fmt.Errorf("invalid value %q; "+allowed, text, maxPath)
		}
		p.steps = append(p.steps, newStep(found))
		rest = rest[len(found[0]):]
	}
	return p, nil
}

// newStep returns the step of a match of segment.
func newStep(found []string) step {
	if index, err := strconv.Atoi(found[4]); err == nil {
		return step{index: index}
	}
	return step{name: unescape.ReplaceAllString(found[1]+found[2]+found[3], "$1"), index: -1}
}

var unescape = regexp.MustCompile(`\\(.)`)

// String returns the path without braces.
func (p path) String() string { return p.text }

// find returns the value of the field, and reports whether it exists. A path through a value without fields does not
// exist.
func (p path) find(object *unstructured.Unstructured) (any, bool) {
	value := any(object.Object)
	for _, step := range p.steps {
		exists := false
		switch parent := value.(type) {
		case map[string]any:
			value, exists = parent[step.name]
			exists = exists && step.index < 0
		case []any:
			if exists = step.index >= 0 && step.index < len(parent); exists {
				value = parent[step.index]
			}
		}
		if !exists {
			return nil, false
		}
	}
	return value, true
}
