// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package outcomes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// MaxMessageLength is the maximum length of messages of conditions, in bytes. Events repeat them; their limit is 1 KiB.
const MaxMessageLength = 1024

// Bound returns a sentence that fits into a condition, without rejected values. The path of a field at its beginning
// stays as it is.
func Bound(message string) string {
	message = texts.Text(message)
	first, size := utf8.DecodeRuneInString(message)
	if word, _, _ := strings.Cut(message, " "); size > 0 && !strings.HasPrefix(word, "spec.") {
		message = string(unicode.ToUpper(first)) + message[size:]
	}
	return texts.Truncate(message, MaxMessageLength)
}

// listLimit leaves room for the text around a list in a message.
const listLimit = MaxMessageLength - 160

// Join joins as many items as fit, and counts the others.
func Join(items []string, separator string) string {
	var out strings.Builder
	for i, item := range items {
		if i > 0 && out.Len()+len(separator)+len(item) > listLimit {
			return out.String() + " … and " + strconv.Itoa(len(items)-i) + " more"
		}
		if i > 0 {
			out.WriteString(separator)
		}
		out.WriteString(item)
	}
	return out.String()
}

// Name formats the identity of an object.
func Name(object types.ObjectKey) string { return types.IDOf(object).String() }

// Notices formats the objects of notices with their messages, sorted.
func Notices(notices []reconciler.Notice) string {
	items := make([]string, len(notices))
	for i, notice := range notices {
		items[i] = Name(notice.Object) + ": " + notice.Message
	}
	slices.Sort(items)
	return Join(items, "; ")
}

// Waves names waves, by their apply or delete orders. Where it is nil, or returns an empty name, they have their
// numbers.
type Waves func(order int) string

// Name returns the name of a wave.
func (w Waves) Name(order int) string {
	if w != nil {
		if name := w(order); name != "" {
			return name
		}
	}
	return types.WaveText(order)
}

// Waits formats the dependents that a wave waits for; what is "ready" or "deleted".
func (w Waves) Waits(result reconciler.Result, what string) string {
	if len(result.Waits) == 0 {
		return w.Name(result.Wave) + " is being processed"
	}
	// Waits may include more than the wave, such as a namespace, or redundant dependents.
	size := max(result.WaveSize, len(result.Waits))
	return fmt.Sprintf("%d of %s of %s not %s: %s", len(result.Waits), Dependents(size), w.Name(result.Wave), what, Notices(result.Waits))
}

// Dependents formats a number of dependents.
func Dependents(count int) string {
	if count == 1 {
		return "1 dependent"
	}
	return strconv.Itoa(count) + " dependents"
}

// Failures formats the failed dependents.
func Failures(result reconciler.Result) string {
	return Dependents(len(result.Failures)) + " failed: " + Notices(result.Failures)
}

// Aftermath continues a sentence by the state of the on-failure hooks; empty if there is nothing to say.
func Aftermath(result reconciler.Result) string {
	switch {
	case result.Aftermath.Problem != "":
		return "; on-failure hooks cannot be applied: " + result.Aftermath.Problem
	case len(result.Aftermath.Failures) > 0:
		return "; on-failure hooks have failed: " + Notices(result.Aftermath.Failures)
	case len(result.Aftermath.Waits) > 0:
		return "; on-failure hooks are not ready: " + Notices(result.Aftermath.Waits)
	default:
		return ""
	}
}

// Drift continues a sentence by the dependents that others have changed; empty if there are none.
func Drift(result reconciler.Result) string {
	if len(result.Drift) == 0 {
		return ""
	}
	return fmt.Sprintf("; %d changed by other clients: %s", len(result.Drift), Notices(result.Drift))
}

// Unhealthy continues a sentence about dependents that are ready by those that are not healthy; empty if there are
// none.
func Unhealthy(dependents []reconciler.Unhealthy) string {
	if len(dependents) == 0 {
		return ""
	}
	items := make([]string, len(dependents))
	for i, dependent := range dependents {
		items[i] = fmt.Sprintf("%s is %s: %s", Name(dependent.Object), strings.ToLower(string(dependent.Grade)), dependent.Message)
	}
	return "; not healthy: " + Join(items, "; ")
}

// HeldBack says what a plan would change, and which dependents are not ready.
func HeldBack(plan reconciler.Plan) string {
	var held, unready []string
	for _, change := range plan.Changes {
		name := Name(change.Object)
		switch {
		case change.Refusal != "":
			held = append(held, name+": would be refused: "+change.Refusal)
		case change.Verb != "":
			held = append(held, fmt.Sprintf("%s: would be %s%s", name, strings.ToLower(string(change.Verb)), because(change.Reason)))
		case change.Status != "" && change.Status != status.CurrentStatus:
			unready = append(unready, name+": "+change.Message)
		case change.Reason != "":
			held = append(held, name+": "+change.Reason)
		}
	}
	message := "nothing is held back"
	if len(held) > 0 {
		message = fmt.Sprintf("%d held back: %s", len(held), Join(held, "; "))
	}
	if len(unready) > 0 {
		message += fmt.Sprintf("; %d not ready: %s", len(unready), Join(unready, "; "))
	}
	return message
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ", because: " + reason
}
