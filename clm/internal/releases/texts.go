// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/texts"
)

// AwaitedText explains how to delete a record that blocks the deletion of its namespace.
func (r *Release) AwaitedText() string {
	return fmt.Sprintf("its namespace is being deleted; to let it go: clm delete %s -n %s", r.Name, r.Namespace)
}

// Text returns what people need to know about the state of the release: that its record blocks the deletion of its
// namespace, why the record cannot be used, or the message; may be empty.
func (r *Release) Text() string {
	if r.Awaited() {
		return r.AwaitedText()
	}
	return cmp.Or(r.Problem, r.Message)
}

// SourceTexts names the sources of a revision: charts by name and version, others by where they were found.
func SourceTexts(list []Source) string {
	return strings.Join(display.Map(list, Source.text), ",")
}

// text names the source.
func (s Source) text() string {
	if s.Name == "" {
		return s.Reference
	}
	return strings.TrimSuffix(s.Name+"-"+s.Version, "-")
}

// PinnedTexts names the sources like SourceTexts, each with the beginning of the digest or commit that was fetched.
func PinnedTexts(list []Source) string {
	return strings.Join(display.Map(list, func(source Source) string { return source.text() + source.fetchedText(12) }), ",")
}

// fetchedText returns at most so many digits of its digest or commit, in parentheses; empty if there is
// none, or if the reference contains it.
func (s Source) fetchedText(digits int) string {
	if s.Digest == "" || strings.Contains(s.Reference, s.Digest) {
		return ""
	}
	end := strings.Index(s.Digest, ":") + 1 + digits
	return " (" + s.Digest[:min(end, len(s.Digest))] + ")"
}

// Describe returns all that is recorded about the source, for people.
func (s Source) Describe() string {
	text := strings.TrimSpace(s.Kind + " " + s.Name + " " + s.Version)
	if s.AppVersion != "" {
		text += ", application version " + s.AppVersion
	}
	if s.Name != "" {
		text += ", from"
	}
	text += " " + s.Reference + s.fetchedText(len(s.Digest))
	if s.SignedBy != "" {
		text += ", signed by " + s.SignedBy
	}
	return text
}

// maxReason is the maximum length of a failure reason in the table, in bytes.
const maxReason = 120

// Describe returns the description of the revision and, if it was never ready, what ended it.
func (r Revision) Describe() string {
	end := ""
	switch {
	case r.CanceledBy != "":
		end = "canceled by a newer " + r.CanceledBy
	case r.FailureText() != "":
		reason := strings.TrimPrefix(strings.Join(strings.Fields(r.FailureText()), " "), "failed: ")
		end = "failed: " + texts.Truncate(reason, maxReason)
	}
	return strings.TrimSuffix(strings.TrimPrefix(r.Description+"; "+end, "; "), "; ")
}

// FailureText returns why the revision failed; empty if it did not fail or if the reason is not known.
func (r Revision) FailureText() string {
	if r.State != RevisionFailed {
		return ""
	}
	return r.Failure
}
