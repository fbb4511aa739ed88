// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"
)

func TestRegistry(t *testing.T) {
	t.Parallel()
	s := newRegistry(t, "0.9.0", "1.0.0", "1.2.0", "1.10.0", "2.0.0-rc.1", "1.3.0+build.7")
	for _, test := range []struct{ reason, reference, version, want string }{
		{"the newest that is no pre-release, by number and not by text", "oci://HOST/charts/web", "", "1.10.0"},
		{"a range", "oci://HOST/charts/web", "~1.2", "1.2.0"},
		{"the version of the reference counts", "oci://HOST/charts/web:1.2.0", "1.0.0", "1.2.0"},
	} {
		got, err := s.fetch(test.reference, Options{Version: test.version})
		if err != nil {
			t.Errorf("%s: %v", test.reason, err)
			continue
		}
		if !bytes.Equal(got.Content, webChart(t, test.want)) || got.Name != "web-"+test.want+".tgz" {
			t.Errorf("%s: got %s, want version %s", test.reason, got.Name, test.want)
		}
	}
}

// TestRegistryCredentials: those that are given count, then those of Helm.
func TestRegistryCredentials(t *testing.T) {
	s := newRegistry(t, "1.0.0")
	s.username, s.password = "me", "secret"
	config := filepath.Join(t.TempDir(), "config.json")
	t.Setenv(registryConfigVariable, config)
	_, err := s.fetch("oci://HOST/charts/web", Options{})
	s.expectError("nobody is known", err, `user name and password are missing or wrong: set them or, for a registry, run "clm registry login HOST"`)
	if _, err := s.fetch("oci://HOST/charts/web", Options{Username: "me", Password: "secret"}); err != nil {
		t.Errorf("credentials were given: %v", err)
	}
	content := `{"auths": {"` + s.host + `": {"auth": "` + base64.StdEncoding.EncodeToString([]byte("me:secret")) + `"}}}`
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.fetch("oci://HOST/charts/web", Options{}); err != nil {
		t.Errorf("credentials were stored: %v", err)
	}
}
