// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"
)

// TestMigrateRefusesWhatIsNoOperator must say what DIR is to be; package migrate has the other tests.
func TestMigrateRefusesWhatIsNoOperator(t *testing.T) {
	t.Parallel()
	command := newMigrate()
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetArgs([]string{"--runtime-path", "../..", t.TempDir()})
	if err := command.Execute(); err == nil || !strings.Contains(err.Error(), "must be a folder with a go.mod") {
		t.Errorf("unexpected error: %v", err)
	}
}
