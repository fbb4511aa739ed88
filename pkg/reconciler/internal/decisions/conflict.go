// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package decisions

import "github.com/component-operator/runtime/internal/conflicts"

const ChangedAllTheTime = "is being changed by others all the time"

// Contention is why a write did not succeed although it was decided anew several times.
type Contention struct {
	unchanged error // the last answer, if the object was as it had been decided on; nil if others had changed it
}

// Met notes the answer to a write, and the state of the object before and after it.
func (c *Contention) Met(answer error, before, after Situation) {
	same := before.Exists == after.Exists && before.Seen.UID == after.Seen.UID && before.Seen.ResourceVersion == after.Seen.ResourceVersion
	c.unchanged = nil
	if same {
		c.unchanged = answer
	}
}

// Message says why, by the words of the API server unless others have changed the object.
func (c *Contention) Message() string {
	if c.unchanged == nil {
		return ChangedAllTheTime
	}
	return "is refused with a conflict although nobody has changed it: " + conflicts.Reason(c.unchanged)
}
