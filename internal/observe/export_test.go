// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package observe

// Modes describes how each kind is observed.
func (c *Cache) Modes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var modes []string
	for gvk, k := range c.kinds {
		k.mu.Lock()
		modes = append(modes, gvk.GroupKind().String()+": "+k.modeLocked())
		k.mu.Unlock()
	}
	return modes
}
