// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

// Modes describes how each kind is observed, sorted by kind.
func (c *Cache) Modes() []string {
	kinds := c.sorted()
	modes := make([]string, len(kinds))
	for i, k := range kinds {
		k.mu.Lock()
		modes[i] = k.gvk.GroupKind().String() + ": " + k.modeLocked()
		k.mu.Unlock()
	}
	return modes
}
