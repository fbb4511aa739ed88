// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersionCommand(e *environment) *cobra.Command {
	var printed output
	command := &cobra.Command{
		Use:   "version",
		Short: "Print the version of clm",
		Long:  "Print the version of clm, and below it the commit and the versions of the libraries that it was built with.",
		RunE: func(*cobra.Command, []string) error {
			b := buildInfo()
			if printed.forPeople() {
				fmt.Fprint(e.out, b)
				return nil
			}
			return printed.print(e.out, resource("Version", "", "clm", map[string]any{
				"version": b.version, "commit": b.commit, "kubernetes": b.kubernetes, "helm": b.helm, "goVersion": runtime.Version(), "platform": platform,
			}))
		},
	}
	printed = newOutput(command)
	return command
}

const platform = runtime.GOOS + "/" + runtime.GOARCH

// build is the build information of the program.
type build struct {
	// version is never empty; the others are empty if they are not known.
	version, commit string
	// kubernetes and helm are the versions of libraries.
	kubernetes, helm string
}

func buildInfo() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return build{version: "unknown"}
	}
	b := build{version: cmp.Or(info.Main.Version, "unknown")}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			b.commit = setting.Value
		}
	}
	for _, module := range info.Deps {
		switch module.Path {
		case "k8s.io/client-go":
			b.kubernetes = module.Version
		case "helm.sh/helm/v3":
			b.helm = module.Version
		}
	}
	return b
}

// String returns the version in a line of its own, and the rest below it.
func (b build) String() string {
	text := b.version + "\n"
	if b.commit != "" {
		text += "commit " + b.commit + "\n"
	}
	return text + fmt.Sprintf("Kubernetes libraries %s, Helm %s, %s, %s\n", cmp.Or(b.kubernetes, "unknown"), cmp.Or(b.helm, "unknown"), runtime.Version(), platform)
}
