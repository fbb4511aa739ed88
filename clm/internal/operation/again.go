// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/component-operator/runtime/clm/internal/dependents"
	"github.com/component-operator/runtime/clm/internal/failures"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// next says what to do after an operation that has ended with an error, including how to return to the last revision that was ready; may be empty.
func (p *Plan) next(limits runner.Limits, err error) string {
	advice := limits.Next(err, p.Release)
	if p.Operation != Apply && p.Operation != Rollback || limits.Instead != "" && advice == limits.Instead {
		return advice
	}
	texts := []string{toContinue(p, err)}
	switch ready := p.Release.LastReady(); {
	case !failures.IsFailure(err):
	case limits.Instead != "":
		texts = append(texts, limits.Instead)
	case ready != nil && p.NeverReady() && p.Revision.Target != ready.Number:
		texts = append(texts, fmt.Sprintf("To return to revision %d: clm rollback %s %d -n %s", ready.Number, p.Release.Name, ready.Number, p.Release.Namespace))
	}
	return strings.TrimPrefix(strings.Join(texts, "\n"), "\n")
}

// toContinue says what to do to continue, including how to run again what has failed; may be empty.
func toContinue(p *Plan, err error) string {
	var again, stuck, commands []string
	for _, notice := range failures.Failed(err) {
		for _, item := range p.Release.Inventory {
			if !item.Matches(notice.Object) || !observe.RunsToCompletion(item.GroupVersionKind().GroupKind()) {
				continue
			}
			if item.Phase == reconciler.PhaseFailed || item.UpdatePolicy == reconciler.UpdatePolicyRecreate {
				again = append(again, dependents.Text(item))
				continue
			}
			stuck = append(stuck, dependents.Text(item))
			// Nobody may have put anything but a name into the record.
			if len(validation.IsDNS1123Subdomain(item.Name))+len(validation.IsDNS1123Label(item.Namespace)) == 0 {
				commands = append(commands, fmt.Sprintf("kubectl delete %s %s -n %s", strings.ToLower(item.Kind), item.Name, item.Namespace))
			}
		}
	}
	const shown = 3
	var texts []string
	if len(again) > 0 {
		texts = append(texts, fmt.Sprintf("To rerun %s, run the same command again.", dependents.Enumerate(again, shown)))
	}
	if len(stuck) > 0 {
		texts = append(texts, fmt.Sprintf("To rerun %s, delete the failed objects, then run the same command again: %s",
			dependents.Enumerate(stuck, shown), strings.Join(commands[:min(len(commands), shown)], "; ")))
	}
	if len(texts) == 0 {
		return failures.Next(err, p.Release)
	}
	return strings.Join(append(texts, fmt.Sprintf("To see why: clm status %s -n %s", p.Release.Name, p.Release.Namespace)), "\n")
}
