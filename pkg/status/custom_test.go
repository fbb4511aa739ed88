// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/component-operator/runtime/pkg/status"
)

func TestCustomResource(t *testing.T) {
	t.Parallel()
	generation := status.Hints{HasObservedGeneration: true}
	ready := status.Hints{HasReadyCondition: true}
	conditions := status.Hints{Conditions: []string{"Synced", "Healthy"}}
	head := "apiVersion: example.io/v1, kind: Thing"
	checkVerdicts(t, head, []verdict{
		{
			reason: "without any status there is nothing to wait for",
			object: `{metadata: {generation: 1}}`,
			status: status.CurrentStatus, message: "ready",
		},
		{
			reason: "a lagging observedGeneration is waited for",
			object: `{metadata: {generation: 2}, status: {observedGeneration: 1, conditions: [{type: Ready, status: "True"}]}}`,
			status: status.InProgressStatus, message: "generation 2 not observed yet, only 1",
		},
		{
			reason: "Ready is what most controllers offer",
			object: `{status: {conditions: [{type: Ready, status: "False", reason: Starting, message: "first line\nsecond line"}]}}`,
			status: status.InProgressStatus, message: "Ready is False (Starting): first line second line",
		},
		{
			reason: "Reconciling outweighs Ready",
			object: `{status: {conditions: [{type: Ready, status: "True"}, {type: Reconciling, status: "True", reason: Step}]}}`,
			status: status.InProgressStatus, message: "Reconciling is True (Step)",
		},
		{
			reason: "a stalled object has failed",
			object: `{status: {conditions: [{type: Stalled, status: "True", reason: Invalid, message: bad field}]}}`,
			status: status.FailedStatus, message: "Stalled is True (Invalid): bad field",
		},
		{
			reason:  "a status that is a string cannot be judged",
			object:  `{metadata: {generation: 1}, status: fine}`,
			status:  status.UnknownStatus,
			message: `status cannot be computed: looking up status.observedGeneration from resource: .status.observedGeneration accessor error: fine is of the type string, expected map[string]interface{}`,
		},
		{
			reason: "hint has-observed-generation: not observed at all",
			object: `{metadata: {generation: 1}}`, hints: generation,
			status: status.InProgressStatus, message: "generation 1 not observed yet",
		},
		{
			reason: "hint has-observed-generation: the Ready condition lags",
			object: `{metadata: {generation: 2}, status: {conditions: [{type: Ready, status: "True", observedGeneration: 1}]}}`, hints: generation,
			status: status.InProgressStatus, message: "generation 2 not observed yet, only 1",
		},
		{
			reason: "hint has-ready-condition: a missing one counts as unknown",
			object: `{metadata: {generation: 1}}`, hints: ready,
			status: status.InProgressStatus, message: "Ready is Unknown",
		},
		{
			reason: "hint conditions: all must be True",
			object: `{status: {conditions: [{type: Synced, status: "False", reason: Busy}, {type: Healthy, status: "True"}]}}`, hints: conditions,
			status: status.InProgressStatus, message: "Synced is False (Busy)",
		},
	})
}

func TestMessagesAreBounded(t *testing.T) {
	t.Parallel()
	object := parse(t, `{apiVersion: example.io/v1, kind: Thing, status: {conditions: [{type: Ready, status: "False", message: "`+strings.Repeat("ä", 500)+`"}]}}`)
	result, err := status.NewAnalyzer(reconcilerName, status.Options{}).Analyze(object, status.Hints{})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Message) > status.MaxMessageLength || !utf8.ValidString(result.Message) || !strings.HasSuffix(result.Message, "ä…") {
		t.Errorf("message of %d bytes: %s", len(result.Message), result.Message)
	}
}
