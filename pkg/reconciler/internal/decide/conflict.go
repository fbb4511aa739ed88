// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "github.com/component-operator/runtime/internal/apiserver"

// ChangedOnEveryAttempt is why a write was given up.
const ChangedOnEveryAttempt = "was modified by other clients on every attempt"

// Contention explains why a write failed although it was decided again several times.
type Contention struct {
	unchanged error // the last answer, if the object had not changed; nil if others had changed it
}

// Met notes the answer to a write, and the state of the object before and after it.
func (c *Contention) Met(answer error, before, after Situation) {
	same := before.Exists == after.Exists && before.Seen.UID == after.Seen.UID && before.Seen.ResourceVersion == after.Seen.ResourceVersion
	c.unchanged = nil
	if same {
		c.unchanged = answer
	}
}

// Message says that others kept changing the object or, if they did not, what the API server says.
func (c *Contention) Message() string {
	if c.unchanged == nil {
		return ChangedOnEveryAttempt
	}
	return "was rejected with a conflict, although it has not changed: " + apiserver.Reason(c.unchanged)
}
