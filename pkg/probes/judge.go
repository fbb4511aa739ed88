// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

// New returns a Judge that goes by the probes. An object is ready if all checks of all probes that select it are true.
// An object that no probe selects is judged by base; if base is nil, it is ready as soon as it exists. Probes take
// precedence over the annotation ready-when, but not over fail-when.
//
// The error says which field of which probe is invalid, and what is allowed.
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

// Rules has a digest of the probes.
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

// Judge evaluates all checks of all probes that select the object. If some answers are unknown, the message has only
// these.
func (j *judge) Judge(object *unstructured.Unstructured) status.Result {
	result, _ := j.JudgeWithin(object, judges.Full)
	return result
}

// JudgeWithin is Judge with a limit of what all checks together may cost; see package judges. Checks beyond it are
// unknown, and it reports false.
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
