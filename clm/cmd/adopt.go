// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/component-operator/runtime/clm/internal/operation"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/pkg/reconciler"
)

const objectsHelp = `OBJECT is KIND[.GROUP]/[NAMESPACE/]NAME, for example deployment/web; short names such as deploy work as well. The namespace is needed only if several
objects have that name.`

func newAdoptCommand(e *environment) *cobra.Command {
	o := adoptOptions{changeOptions: changeOptions{undeclared: true}}
	command := &cobra.Command{
		Use:        "adopt NAME [OBJECT...]",
		SuggestFor: []string{"import"},
		Short:      "Adopt existing objects, or a release of Helm",
		Long: `Adopt objects that the current revision of release NAME renders and that already exist, even if they have another owner or their adoption
policies forbid it. Then continue to apply the revision. Objects that the revision does not render are refused.

If an object belongs to another release, that release is not changed. To move an object from one release to another, use clm move.

With --from-helm, adopt the Helm release NAME instead, as a release with the same name: its installed revision, with its number, values and objects, becomes the
first revision of clm, and its objects get the marks of clm instead of those of Helm. Hooks do not run. Objects that do not have the marks of the Helm release, and have another
owner, are refused. If clm is interrupted, run the same command again to continue.

Helm knows the release until its record is deleted: until then, helm upgrade changes the objects, and helm uninstall may delete them. With --delete-helm-record,
clm deletes the record when everything is ready.

clm shows what will change, and asks for confirmation. ` + askingHelp + `

` + objectsHelp,
		Example: `  clm adopt web deployment/web service/web
  clm adopt web --from-helm --delete-helm-record`,
		Args: func(_ *cobra.Command, args []string) error { return o.checkArguments(args) },
		RunE: func(command *cobra.Command, args []string) error {
			if !o.fromHelm {
				return o.run(command.Context(), e, func(s *runner.Connection, namespace string, _ bool) (*operation.Plan, error) {
					request := operation.HandoverRequest{Namespace: namespace, Name: args[0], Objects: args[1:], Approved: o.approved}
					return operation.PlanAdoption(command.Context(), s, request)
				})
			}
			if err := o.check(); err != nil {
				return err
			}
			return e.repeat(command.Context(), o.events(), func(s *runner.Connection, namespace string) error {
				return o.adoptFromHelm(command.Context(), e, s, namespace, args[0])
			})
		},
	}
	addChangeFlags(command.Flags(), &o.changeOptions)
	addConflictsFlag(command.Flags(), &o.conflicts, "", "")
	command.Flags().BoolVar(&o.fromHelm, "from-helm", false, "adopt the release of Helm with this name")
	command.Flags().BoolVar(&o.deleteRecord, "delete-helm-record", false, "with --from-helm, delete Helm's record of the release in the end, so that Helm does not know it any more")
	return command
}

// adoptOptions are the options of clm adopt.
type adoptOptions struct {
	changeOptions

	// fromHelm adopts a Helm release; deleteRecord also deletes Helm's record of it.
	fromHelm, deleteRecord bool
}

// checkArguments checks the number of arguments, which depends on the flags.
func (o *adoptOptions) checkArguments(args []string) error {
	switch {
	case o.deleteRecord && !o.fromHelm:
		return errors.New("flag --delete-helm-record needs --from-helm")
	case o.deleteRecord && o.Wait != operation.WaitReady:
		return errors.New("flags --delete-helm-record and --no-wait cannot be used together: the record is deleted when everything is ready")
	default:
		return checkObjects(args, o.fromHelm, "--from-helm adopts a release of Helm")
	}
}

// checkObjects checks the arguments NAME [OBJECT...] of a command with a flag that replaces OBJECT.
func checkObjects(args []string, isGiven bool, flag string) error {
	switch {
	case len(args) == 0:
		return errors.New("NAME is missing")
	case isGiven && len(args) > 1:
		return fmt.Errorf("OBJECT is not allowed: %s", flag)
	case !isGiven && len(args) == 1:
		return fmt.Errorf("OBJECT... is missing; %s", flag)
	default:
		return nil
	}
}

// defaultPolicies returns the policies of clm apply without flags. Applying the same chart afterwards then creates no
// revision that differs only in policies.
func defaultPolicies() reconciler.Policies {
	var flags policyFlags
	addPolicyFlags(pflag.NewFlagSet("", pflag.ContinueOnError), &flags)
	return operation.Lasting(flags.policies())
}

// adoptFromHelm turns a Helm release into a clm release.
func (o *adoptOptions) adoptFromHelm(ctx context.Context, e *environment, s *runner.Connection, namespace, name string) error {
	release, p, err := operation.PlanHelmAdoption(ctx, s, namespace, name, defaultPolicies())
	if err != nil {
		return err
	}
	if p == nil {
		fmt.Fprintf(e.err, "Helm release %s has become a release of clm already.\n", release)
		return o.retireAlone(ctx, e, s, release)
	}
	defer p.Close()
	deployed := release.Deployed
	fmt.Fprintf(e.err, "Revision %d of Helm release %s is deployed, from %s.\n", deployed.Number, release, display.Clean(releases.SourceTexts(deployed.Sources)))
	e.warnOfHelm(release)
	if o.deleteRecord {
		fmt.Fprintln(e.err, recordText(release)+" is deleted at the end.")
	}
	err = o.attempt(ctx, e, s, func(bool) (*operation.Plan, error) { return p, nil })
	if err != nil || o.dryRun.isSet() {
		return err
	}
	if len(p.Pending()) == 0 {
		// The plan was idle, so the user was not asked yet.
		return o.retireAlone(ctx, e, s, release)
	}
	return o.retire(ctx, e, s, release)
}

// warnOfHelm warns about other programs that have installed objects of the release.
func (e *environment) warnOfHelm(release *operation.HelmRelease) {
	for _, program := range release.Programs {
		fmt.Fprintf(e.err, "Warning: objects of the release were installed by %s, a program with Helm's packages. If it is a controller, stop it from managing the release first. "+
			"clm does not remove the fields that it has set and the chart no longer has; "+
			"to remove them, apply the chart with policy rules that set the annotation update-policy to replace\n", display.Clean(program))
	}
}

// recordText names Helm's record of a release.
func recordText(release *operation.HelmRelease) string {
	return fmt.Sprintf("Helm's record of release %s (%s)", release, release.Records())
}

// retireAlone deletes Helm's record of a release that was adopted before, if --delete-helm-record is set.
func (o *adoptOptions) retireAlone(ctx context.Context, e *environment, s *runner.Connection, release *operation.HelmRelease) error {
	if o.dryRun.isSet() {
		return nil
	}
	if o.deleteRecord {
		adopted, err := s.Records().Get(ctx, release.Namespace, release.Name)
		if err != nil {
			return err
		}
		if adopted.State != releases.StateReady {
			return releases.Refused("Helm's record is not deleted as long as release %s is not ready (it is %s); to see why: clm status %s -n %s",
				adopted, adopted.State, adopted.Name, adopted.Namespace)
		}
		c := e.consent(o.yes, false)
		defer c.Close()
		if err := c.get(ctx, fmt.Sprintf("Delete %s?", recordText(release))); err != nil {
			return err
		}
	}
	return o.retire(ctx, e, s, release)
}

// retire deletes Helm's record of an adopted release, or warns about what Helm may do as long as it exists.
func (o *adoptOptions) retire(ctx context.Context, e *environment, s *runner.Connection, release *operation.HelmRelease) error {
	if !o.deleteRecord {
		fmt.Fprintf(e.err, "Warning: Helm still has a record of the release: helm upgrade changes the objects, and helm uninstall before Helm 4.3 deletes them, whoever owns them. "+
			"To delete the record: clm adopt %s --from-helm --delete-helm-record -n %s\n", release.Name, release.Namespace)
		return nil
	}
	err := release.Retire(ctx, s.Client())
	if errors.Is(err, helm.ErrReleaseChanged) {
		return releases.Refused("%s; its record was not deleted. To adopt what Helm has installed since, run the same command again", err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(e.err, "%s was deleted.\n", recordText(release))
	return nil
}
