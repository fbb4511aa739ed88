// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import "github.com/component-operator/runtime/internal/conflicts"

const changedAllTheTime = "is being changed by others all the time"

// contention is why a write did not succeed although it was decided anew several times.
type contention struct {
	unchanged error // the last answer, if the object was as it had been decided on; nil if others had changed it
}

// met notes the answer to a write, and the state of the object before and after it.
func (c *contention) met(answer error, before, after situation) {
	same := before.exists == after.exists && before.seen.UID == after.seen.UID && before.seen.ResourceVersion == after.seen.ResourceVersion
	c.unchanged = nil
	if same {
		c.unchanged = answer
	}
}

// message says why, by the words of the API server unless others have changed the object.
func (c *contention) message() string {
	if c.unchanged == nil {
		return changedAllTheTime
	}
	return "is refused with a conflict although nobody has changed it: " + conflicts.Reason(c.unchanged)
}
