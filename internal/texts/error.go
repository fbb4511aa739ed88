// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package texts

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Error returns an error whose text quotes no values; nil if there is none. It wraps the given one.
func Error(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); Text(text) != text {
		return &redacted{err: err}
	}
	return err
}

type redacted struct{ err error }

// Error returns the text without values.
func (e *redacted) Error() string { return Text(e.err.Error()) }

// Unwrap returns the error that may quote values.
func (e *redacted) Unwrap() error { return e.err }

// Status removes values from an API server's response. The body is that of the request if it is a Secret, and nil
// otherwise. Status reports whether it removed any.
func Status(status *metav1.Status, body []byte) bool {
	before := status.Message
	status.Message = SecretText(status.Message, body)
	changed := status.Message != before
	if status.Details == nil {
		return changed
	}
	for i := range status.Details.Causes {
		cause := &status.Details.Causes[i]
		field := Text(cause.Field)
		changed = changed || field != cause.Field
		cause.Field = field
		// The text of a cause is that of a field error without the field.
		prefix := cause.Field + ": "
		message := SecretText(prefix+cause.Message, body)
		if len(message) < len(prefix) || message[:len(prefix)] != prefix {
			message = prefix + Mark
		}
		changed = changed || message[len(prefix):] != cause.Message
		cause.Message = message[len(prefix):]
	}
	return changed
}
