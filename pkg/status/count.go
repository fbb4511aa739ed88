// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"
)

// count formats the numbers of a workload: the decisive one always, all others only while they differ from the desired
// number.
type count struct {
	desired int64
	noun    string
	words   []string
	settled bool
}

func counting(desired int64, noun string) *count {
	return &count{desired: desired, noun: noun, settled: true}
}

func (c *count) state(name string, actual int64) {
	c.words = append(c.words, fmt.Sprintf("%d/%d %s %s", actual, c.desired, c.noun, name))
	c.settled = c.settled && actual >= c.desired
}

func (c *count) progress(name string, actual int64) {
	if actual < c.desired {
		c.words = append(c.words, fmt.Sprintf("%d/%d %s", actual, c.desired, name))
		c.settled = false
	}
}

func (c *count) surplus(actual int64) {
	if actual > c.desired {
		c.words = append(c.words, fmt.Sprintf("%d surplus", actual-c.desired))
		c.settled = false
	}
}

// unfinished says that the controller is not done if no number says so.
func (c *count) unfinished() {
	if c.settled {
		c.words = append(c.words, "rollout not finished")
	}
}

func (c *count) String() string {
	return strings.Join(c.words, ", ")
}
