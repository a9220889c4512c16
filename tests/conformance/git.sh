#!/bin/sh
# SPDX-License-Identifier: MIT
# git: a history with branches, merges, a conflict and a rebase has the same object names; packing, cloning, bisecting.
# needs: git

export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=C GIT_COMMITTER_EMAIL=c@example.org
export GIT_CONFIG_NOSYSTEM=1 GIT_PAGER=cat GIT_EDITOR=true
clock=1700000000
commit() { clock=$((clock + 60)); GIT_AUTHOR_DATE="$clock +0000" GIT_COMMITTER_DATE="$clock +0000" $GAIT git commit -q "$@"; }
export GIT_AUTHOR_DATE="1700000000 +0000" GIT_COMMITTER_DATE="1700000000 +0000"

$GAIT git init -q -b main repo
cd repo || exit 1
git config pack.threads 2; git config index.threads 2; git config gc.auto 0; git config protocol.file.allow always
mkdir -p src/deep
for n in 1 2 3 4 5 6 7 8 9 10; do
    for f in a b c d src/e src/f src/deep/g src/deep/h; do seq "$n" $((n * 40)) | sed "s|\$| $f|" >"$f$((n % 4)).txt"; done
    $GAIT git add -A
    commit -m "change $n"
done
echo "-- history"
$GAIT git log --format='%h %s' --stat -n 2
$GAIT git diff HEAD~3 --shortstat -M
$GAIT git diff --word-diff HEAD~1 -- a2.txt | sha256sum
$GAIT git blame -s src/e1.txt | sha256sum
$GAIT git grep -c '^39 ' HEAD | wc -l
$GAIT git rev-list --objects --all | sort | sha256sum

echo "-- branches"
$GAIT git checkout -q -b topic HEAD~4
echo topic >topic.txt; git add .; commit -m "topic 1"
sed -i 's/^50 .*/50 mine/' a1.txt; commit -am "topic 2"
$GAIT git checkout -q main
sed -i 's/^50 .*/50 theirs/' a1.txt; commit -am "main 11"
$GAIT git merge -q topic -m merge 2>&1; echo "merge $?"
$GAIT git status --short
sed -i '/^<<<<<<<\|^=======\|^>>>>>>>/d' a1.txt; git add -A; commit -m merged
$GAIT git log --graph --format=%s -n 4
$GAIT git checkout -q topic; echo more >more.txt; git add .; commit -m "topic 3"
$GAIT git rebase -q -X theirs main 2>&1; echo "rebase $?"
$GAIT git rev-parse HEAD
$GAIT git stash list; echo dirty >>topic.txt; $GAIT git stash -q; $GAIT git stash pop -q; $GAIT git status --short; git checkout -q .
$GAIT git tag -a -m tag v1; $GAIT git describe HEAD
$GAIT git cherry-pick main~2 >/dev/null 2>&1; echo "cherry-pick $?"; $GAIT git cherry-pick --abort 2>/dev/null

echo "-- storage"
$GAIT git repack -adfq --depth=20 --window=20
$GAIT git count-objects -v | grep -E '^(count|in-pack|packs|garbage)'
$GAIT git gc -q --prune=now
$GAIT git fsck --full 2>&1; echo "fsck $?"
$GAIT git bundle create -q ../all.bundle --all && $GAIT git bundle verify -q ../all.bundle 2>&1; echo "bundle $?"
$GAIT git archive --format=tar main | sha256sum
cd ..
$GAIT git clone -q --no-local repo copy 2>&1; $GAIT git -C copy log --format=%H main 2>/dev/null | head -n 1; git -C copy rev-parse HEAD
$GAIT git clone -q --depth 2 "file://$PWD/repo" shallow; git -C shallow rev-list --count HEAD
(cd copy && echo pushed >p && git add p && commit -m pushed && $GAIT git push -q origin HEAD:refs/heads/new && git -C ../repo rev-parse new)
printf '#!/bin/sh\necho hook ran\nexit 1\n' >repo/.git/hooks/pre-commit; chmod +x repo/.git/hooks/pre-commit
(cd repo && echo x >x && git add x && commit -m refused; echo "hook $?"; rm .git/hooks/pre-commit; git rm -qf --cached x)
cd repo
$GAIT git bisect start main main~7 >/dev/null 2>&1
$GAIT git bisect run sh -c '! grep -q "^240 " a*.txt' 2>/dev/null | grep 'first bad'; $GAIT git bisect reset -q 2>/dev/null
$GAIT git fast-export main 2>/dev/null | sha256sum
$GAIT git worktree add -q ../tree main 2>&1; ls ../tree | wc -l
