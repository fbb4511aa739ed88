// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sops

import (
	"slices"
	"strings"

	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/config"
	"github.com/getsops/sops/v3/stores/dotenv"
	"github.com/getsops/sops/v3/stores/ini"
	"github.com/getsops/sops/v3/stores/json"
	"github.com/getsops/sops/v3/stores/yaml"
)

// format is one of SOPS's.
type format struct {
	store sops.Store
	// endings are those of the names of files that have the format.
	endings []string
}

// formats ends with the one for files with other endings. It is created for each file: SOPS does not say that its
// stores may be used concurrently.
func formats() []format {
	defaults := config.NewStoresConfig()
	return []format{
		{yaml.NewStore(&defaults.YAML), []string{".yaml", ".yml"}},
		{json.NewStore(&defaults.JSON), []string{".json"}},
		{dotenv.NewStore(&defaults.Dotenv), []string{".env"}},
		{ini.NewStore(&defaults.INI), []string{".ini"}},
		{json.NewBinaryStore(&defaults.JSONBinary), nil},
	}
}

func (f format) matches(path string) bool {
	return f.endings == nil || slices.ContainsFunc(f.endings, func(ending string) bool { return strings.HasSuffix(path, ending) })
}

func (f format) description() string {
	if f.endings == nil {
		return "with any other ending"
	}
	return "ending with " + strings.Join(f.endings, " or ")
}
